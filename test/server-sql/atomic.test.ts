import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ClientTransaction } from '../../src/server/log/log.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert } from '../server/harness.ts'
import { idAt } from '../support/ids-at.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { logsIn } from '../support/postgres-log.ts'
import { asService, idsOf } from './judge.ts'

const postgres = ownPostgres()

/** Breaks the first commits of writes about the record `id` with `state`. */
const breaking = (id: string, state: string, times: number) => `
  create sequence broken_${id};
  create function break_${id}() returns trigger language plpgsql as $$ begin
    if nextval('broken_${id}') <= ${times} then raise exception using errcode = '${state}', message = 'secret'; end if;
    return null;
  end $$;
  create constraint trigger break_${id} after insert on instep_log deferrable initially deferred
    for each row when (new.id = '${id}') execute function break_${id}()`

function txOf(id: string, record: string, more: Partial<ClientTransaction> = {}): ClientTransaction {
  const ops = [insert('before'), insert(record)]
  return { caller: 'ann', owners: ['ann'], id, digest: id, ops, bases: [], requires: [], ...more }
}

test('invariant 17: a write that is rolled back uses no sid, and leaves no gap that anybody waits for', async () => {
  const log = await openSqlLog(await postgres.database('rollback'))
  await postgres.run('rollback', breaking('x', 'P0001', 1))
  await log.write([insert('1')], asService)
  await expect(log.write([insert('2'), insert('x')], asService)).rejects.toThrow('secret')
  expect(await log.position()).toMatchObject({ head: 1 })
  await log.write([insert('3')], asService)
  const { changes, sid } = await log.changes(0, 100)
  expect(changes.map((change) => [change.sid, JSON.parse(change.frame).id])).toEqual([
    [1, '1'],
    [2, '3'],
  ])
  expect(sid).toBe(2)
  await log.close()
})

test('invariant 20: a failed commit leaves no record, no frame and no verdict', async () => {
  const log = await openSqlLog(await postgres.database('verdict'))
  await postgres.run('verdict', breaking('x', 'P0001', 1))
  await expect(log.transact(txOf('a', 'x'), asService)).rejects.toThrow('secret')
  const rows = await postgres.run(
    'verdict',
    'select (select count(*) from instep_log) + (select count(*) from instep_record) + (select count(*) from instep_verdict) as all',
  )
  expect(rows).toEqual([{ all: '0' }])
  for (let time = 0; time < 2; time += 1) {
    expect(await log.transact(txOf('a', 'x'), asService)).toEqual({ sid: 2 })
  }
  expect(await idsOf(log)).toEqual(['before', 'x'])
  await log.close()
})

describe('a write that the database rolls back in favour of another', () => {
  test.each(['40001', '40P01', '55P03'])('is tried again, and happens once: %s', async (state) => {
    const name = `retried_${state.toLowerCase()}`
    const log = await openSqlLog(await postgres.database(name))
    await postgres.run(name, breaking('x', state, 2))
    expect(await log.write([insert('x')], asService)).toBe(1)
    await log.close()
  })

  test('is tried again with the whole group, and expired transactions stay expired', async () => {
    const retention = { maxVerdictAgeMs: 3_600_000 }
    const log = await openSqlLog(await postgres.database('group'), { retention })
    await postgres.run('group', breaking('x', '40001', 2))
    const old = idAt(1)
    const all = [
      txOf('a', '1', { ops: [] }),
      txOf(old, '2'),
      txOf('b', '3', { requires: [old] }),
      txOf('c', 'x', { ops: [insert('x')] }),
    ]
    const verdicts = await Promise.all(all.map((tx) => log.transact(tx, asService)))
    const expired = { error: { code: 'expired' } }
    expect(verdicts).toMatchObject([{ sid: 0 }, expired, expired, { sid: 1 }])
    const kept = await postgres.run('group', 'select id from instep_verdict order by id')
    expect(kept.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    await log.close()
  })

  test('is reported after a few tries as a temporary failure', async () => {
    const log = await openSqlLog(await postgres.database('hopeless'))
    await postgres.run('hopeless', breaking('x', '40001', 1_000))
    await expect(log.write([insert('x')], asService)).rejects.toMatchObject({
      code: 'timeout',
      retryable: true,
    })
    const [row] = await postgres.run('hopeless', "select nextval('broken_x') as tries")
    expect(row).toEqual({ tries: '6' })
    await log.close()
  })
})

describe.each(['PostgreSQL', 'PGlite'])('data that %s refuses', (kind) => {
  let logs: Awaited<ReturnType<typeof logsIn>>

  beforeAll(async () => {
    logs = await logsIn(kind === 'PGlite' ? 'memory:' : await postgres.database('refusals'))
  })

  afterAll(() => logs.close())

  const long = Array.from({ length: 4_000 }, (_, index) => index.toString(36)).join('')

  test.each([
    ['NUL in a type', { ...insert('1'), t: 'a\0' }],
    ['NUL in an id', insert('a\0')],
    ['NUL in a field', insert('1', { a: '\0' })],
    ['NUL in an owner', insert('1', {}, 'a\0')],
    ['half of a surrogate pair in an id', insert('a\ud800')],
    ['half of a surrogate pair in a field', insert('1', { a: '\udc00' })],
    ['an id longer than an index takes', insert(long)],
  ])('invariant 26: is rejected for good, and nothing is stored: %s', async (_, op) => {
    const { log } = await logs.make()
    await log.write([insert('0')], asService)
    await expect(log.write([insert('2'), op], asService)).rejects.toMatchObject({
      name: 'RejectedError',
      reason: 'invalid',
    })
    const tx = { ...txOf('a', '3'), ops: [insert('2'), op] }
    const verdict = await log.transact(tx, asService)
    expect(verdict).toMatchObject({ error: { code: 'invalid' } })
    expect(await log.transact(tx, asService)).toEqual(verdict)
    expect(await idsOf(log)).toEqual(['0'])
    expect(await log.position()).toMatchObject({ head: 1 })
    await log.close()
  })

  test('invariant 26: gets a verdict even if its id cannot be stored', async () => {
    const { log } = await logs.make()
    const refused = { error: { code: 'invalid', message: expect.any(String) } }
    expect(await log.transact(txOf('a\0', '1'), asService)).toEqual(refused)
    expect(await log.transact(txOf('a\ud800', '1'), asService)).toEqual(refused)
    expect(await idsOf(log)).toEqual([])
    await log.close()
  })
})

test('invariant 26: by a constraint of others is rejected without quoting the database', async () => {
  const log = await openSqlLog(await postgres.database('strict'))
  await postgres.run('strict', "alter table instep_record add constraint secret check (id <> 'x')")
  const verdict = await log.transact(txOf('a', 'x'), asService)
  expect(verdict).toMatchObject({ error: { code: 'invalid' } })
  expect(JSON.stringify(verdict)).not.toContain('secret')
  await log.close()
})
