import { Client } from 'pg'
import { expect, test } from 'vitest'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert } from '../server/harness.ts'
import { type Child, runChild } from '../support/child.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { asService, eventually } from './judge.ts'

const postgres = ownPostgres()

interface Said {
  readonly ids?: readonly string[]
  readonly done?: boolean
}

/** The ids of all that `writer` has written by its end. */
async function written(writer: Child<Said>): Promise<readonly string[]> {
  const all: string[] = []
  for (;;) {
    const { ids = [], done } = await writer.next()
    all.push(...ids)
    if (done) return all
  }
}

/** Lets PostgreSQL call a function before it commits a write. */
const beforeCommit = (call: string) => `
  create function dawdle() returns trigger language plpgsql as $$ begin perform ${call}; return null; end $$;
  create constraint trigger dawdle after insert on instep_log deferrable initially deferred
    for each row when (new.last) execute function dawdle()`

test('invariant 13: while 8 processes write, a reader that continues from a position misses nothing', async () => {
  const address = await postgres.database('ordered')
  const log = await openSqlLog(address)
  await postgres.run('ordered', beforeCommit('pg_sleep(random() * 0.004)'))
  const writers = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      runChild<Said>('test/server-sql/writer.ts', [address, `w${n}`, '150']),
    ),
  )
  let writing = true
  const all = Promise.all(writers.map(written)).finally(() => {
    writing = false
  })

  const follow = async (read: (since: number) => Promise<{ sid: number; ids: readonly string[] }>) => {
    const seen: string[] = []
    for (let since = 0, last = false; !last; ) {
      // What is read after the writers have ended is all that there is.
      last = !writing
      const { sid, ids } = await read(since)
      seen.push(...ids)
      if (sid > since) last = false
      since = sid
      await new Promise((resolve) => setTimeout(resolve, 3))
    }
    return seen
  }
  const byChanges = follow(async (since) => {
    const { sid, changes } = await log.changes(since, 100)
    return { sid, ids: changes.map(({ frame }) => JSON.parse(frame).id) }
  })
  const byDelta = follow(async (since) => {
    const delta = await log.delta(['ann'], since)
    let text = ''
    for await (const batch of delta.batches) text += text === '' ? batch : `,${batch}`
    const frames: readonly SyncFrame[] = JSON.parse(`[${text}]`)
    return { sid: delta.head, ids: frames.map(({ id }) => id) }
  })
  const [ids, changes, delta] = await Promise.all([all, byChanges, byDelta])
  await log.close()
  const expected = ids.flat().sort()
  expect(expected).toHaveLength(1_200)
  expect([...changes].sort()).toEqual(expected)
  expect([...delta].sort()).toEqual(expected)
}, 120_000)

test('invariant 13: a write that waits for another process sees the changes of that process', async () => {
  const address = await postgres.database('waiting')
  const [first, second] = await Promise.all([openSqlLog(address), openSqlLog(address)])
  await postgres.run('waiting', beforeCommit('pg_advisory_xact_lock(7)'))
  const holder = new Client({ connectionString: address })
  await holder.connect()
  await holder.query('select pg_advisory_lock(7)')
  const waiting = async () => (await holder.query('select from pg_locks where not granted')).rowCount
  const inserting = first.write([insert('x')], asService)
  await eventually(async () => (await waiting()) === 1)
  const updating = second.write([{ op: 'u', t: 'Todo', id: 'x', p: { n: 1 } }], asService)
  await eventually(async () => (await waiting()) === 2)
  await holder.end()
  expect(await updating).toBe(2)
  expect(await inserting).toBe(1)
  await Promise.all([first.close(), second.close()])
})

test('processes that start at once on an empty database create its tables once', async () => {
  const address = await postgres.database('fresh')
  const logs = await Promise.all(Array.from({ length: 6 }, () => openSqlLog(address)))
  const positions = await Promise.all(logs.map((log) => log.position()))
  expect(new Set(positions.map(({ history }) => history)).size).toBe(1)
  await Promise.all(logs.map((log) => log.close()))
})

test('two schemas of a database have separate histories, and the search path decides', async () => {
  const address = await postgres.database('schemas')
  await postgres.run('schemas', 'create schema one; create schema two; create schema empty')
  const open = (path: string) => openSqlLog(`${address}&options=-csearch_path%3D${path}`)
  const [one, two] = [await open('one'), await open('two')]
  await one.write([insert('x')], asService)
  expect([(await one.position()).head, (await two.position()).head]).toEqual([1, 0])
  const again = await open('empty,one')
  expect(await again.position()).toEqual(await one.position())
  await Promise.all([one, two, again].map((log) => log.close()))
})

test('a process that is killed while it writes loses nothing that was answered, and blocks nobody', async () => {
  const address = await postgres.database('killed')
  const log = await openSqlLog(address)
  const [victim, other] = await Promise.all(
    ['v', 'o'].map((name) => runChild<Said>('test/server-sql/writer.ts', [address, name, '2000'])),
  )
  if (!victim || !other) throw new Error('A process did not start.')
  const rest = written(other)
  const answered: string[] = []
  while (answered.length < 500) answered.push(...((await victim.next()).ids ?? []))
  await victim.kill()
  answered.push(...(await rest))

  const { head } = await log.position()
  const { changes } = await log.changes(0, head)
  expect(changes.map(({ sid }) => sid)).toEqual(Array.from({ length: head }, (_, index) => index + 1))
  const ids = changes.map(({ frame }) => JSON.parse(frame).id)
  expect(new Set(ids).size).toBe(head)
  expect(answered.filter((id) => !ids.includes(id))).toEqual([])
  await log.close()
}, 120_000)
