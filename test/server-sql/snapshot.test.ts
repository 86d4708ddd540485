import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Log, LogRead } from '../../src/server/log/log.ts'
import type { SqlDatabase } from '../../src/server/log/sql/database.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { openSnapshot } from '../../src/server/log/sql/read.ts'
import { writeIn } from '../../src/server/log/sql/write.ts'
import { insert, remove, update } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { logsIn } from '../support/postgres-log.ts'
import { VirtualClock } from '../support/virtual.ts'
import { asService, eventually, idsOf } from './judge.ts'

const postgres = ownPostgres()
const logs: { [kind: string]: Awaited<ReturnType<typeof logsIn>> } = {}

beforeAll(async () => {
  logs.PostgreSQL = await logsIn(await postgres.database('snapshot'))
  logs.PGlite = await logsIn('memory:')
})

afterAll(async () => {
  for (const { close } of Object.values(logs)) await close()
})

describe.each(['PostgreSQL', 'PGlite'])('a read in %s', (kind) => {
  let log: Log

  beforeEach(async () => {
    const made = await logs[kind]?.make()
    if (made) log = made.log
    const ids = Array.from({ length: 3_000 }, (_, index) => String(index))
    await log.write(
      ids.map((id) => insert(id, { n: 0, text: 'x'.repeat(200) })),
      asService,
    )
  })

  afterEach(() => log.close())

  test('invariant 14: returns horizon, head and content of one moment, however much is written meanwhile', async () => {
    let count = 0
    const slowly = async (read: LogRead) => {
      let text = ''
      for await (const batch of read.batches) {
        text += text === '' ? batch : `,${batch}`
        count += 1
        await log.write([update('2999', { n: 1 }), insert(`late-${count}`, { n: 2 })], asService)
        await log.trim((await log.position()).head)
      }
      return JSON.parse(`[${text}]`).map(({ p }: { p: { n: number } }) => p.n)
    }
    const nothing = Array.from({ length: 3_000 }, () => 0)
    const [delta, snapshot] = [await log.delta(['ann'], 0), await log.snapshot(['ann'])]
    expect(delta).toMatchObject({ head: 3_000, horizon: 0 })
    expect(snapshot).toMatchObject({ head: 3_000, horizon: 0, count: 3_000 })
    expect(await slowly(snapshot)).toEqual(nothing)
    expect(await slowly(delta)).toEqual(nothing)
  })

  // What follows is SQL that both run alike.
  if (kind === 'PGlite') return

  test('returns payloads as they were written: the order of keys, every digit, every character', async () => {
    const p = '{"userId":"eve","b":1,"a":{"é\\n":[1e21,-0.1,9007199254740991,null]},"A":"\u2028"}'
    await log.write([{ op: 'i', t: 'Todo "x"', id: 'ü', p: JSON.parse(p) }], asService)
    let text = ''
    for await (const batch of (await log.snapshot(['eve'])).batches) text += batch
    expect(text).toBe(`{"t":"Todo \\"x\\"","id":"ü","v":3001,"p":${JSON.stringify(JSON.parse(p))}}`)
  })

  test('returns nothing for an owner whose name no database can hold', async () => {
    await log.write([insert('x', {}, '\ufffd')], asService)
    expect(await idsOf(log, '\ud800')).toEqual([])
    expect((await log.snapshot(['a\0b'])).count).toBe(0)
    expect(await idsOf(log, '\ufffd')).toEqual(['x'])
  })

  test('returns frames in order, also of removed and replaced records', async () => {
    await log.write([remove('5'), insert('5', { n: 3 }), update('7', { n: 4 }), remove('6')], asService)
    let text = ''
    for await (const batch of (await log.delta(['ann'], 3_000)).batches) text += batch
    expect(JSON.parse(`[${text}]`)).toMatchObject([
      { sid: 3_002, op: 'i' },
      { sid: 3_003, op: 'u' },
      { sid: 3_004, op: 'd' },
    ])
  })
})

describe('a write at the beginning of a read is not in it', () => {
  /** Holds up the read where it asks `table`, and has a write happen meanwhile. */
  const interrupted = async <T>(
    table: string,
    read: (log: Log, database: SqlDatabase) => Promise<T>,
  ): Promise<T> => {
    const { make, database } = logs.PostgreSQL ?? (await logsIn('memory:'))
    const { log } = await make()
    await log.write([insert('1')], asService)
    let reading: Promise<T> | undefined
    await database.writers.transaction().execute(async (db) => {
      await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(db)
      reading = read(log, database)
      await eventually(async () => {
        const { rows } = await sql`select from pg_locks where not granted`.execute(database.followers)
        return rows.length > 0
      })
      await writeIn(db, database, [{ ops: [insert('2')], judge: asService }], 0)
    })
    const result = await (reading ?? read(log, database))
    await log.close()
    return result
  }

  test('invariant 14: not in a snapshot', async () => {
    const read = await interrupted('instep_record', async (_, database) => {
      const { position, count, cursor } = await openSnapshot(database, ['ann'])
      await cursor.close()
      return { head: position.head, count }
    })
    expect(read).toEqual({ head: 1, count: 1 })
  })

  test('invariant 14: not in a delta', async () => {
    const frames = await interrupted('instep_log', async (log) => {
      const delta = await log.delta(['ann'], 0)
      expect(delta.head).toBe(1)
      for await (const batch of delta.batches) return JSON.parse(`[${batch}]`)
    })
    expect(frames).toMatchObject([{ id: '1' }])
  })
})

describe('a reader of PostgreSQL', () => {
  const long = Array.from({ length: 2_500 }, (_, index) => insert(String(index), { text: 'x'.repeat(500) }))

  test('that reads nothing for too long is aborted, and releases its resources', async () => {
    const clock = new VirtualClock()
    const log = await openSqlLog(await postgres.database('idle'), {
      maxReaders: 1,
      readerIdleMs: 30_000,
      clock,
    })
    await log.write(long, asService)
    const first = (await log.snapshot(['ann'])).batches[Symbol.asyncIterator]()
    expect((await first.next()).value).toContain('"id":"0"')
    await clock.advance(29_000)
    expect((await first.next()).done).toBe(false)
    const second = log.snapshot(['ann'])
    await clock.advance(30_000)
    await expect(first.next()).rejects.toThrow('was aborted')
    expect((await second).count).toBe(2_500)
    await log.close()
  })

  test('that leaves in the middle releases its resources', async () => {
    const log = await openSqlLog(await postgres.database('left'), { maxReaders: 1 })
    await log.write(long, asService)
    for (let time = 0; time < 3; time += 1) {
      for await (const batch of (await log.snapshot(['ann'])).batches) if (batch) break
    }
    expect(await idsOf(log)).toHaveLength(2_500)
    await log.close()
  })

  test('does not keep the log from closing', async () => {
    const log = await openSqlLog(await postgres.database('closing'))
    await log.write(long, asService)
    const batches = (await log.snapshot(['ann'])).batches[Symbol.asyncIterator]()
    await log.close()
    await expect(batches.next()).rejects.toThrow('was aborted')
  })

  test('gets few long rows at once, and many short ones', async () => {
    const log = await openSqlLog(await postgres.database('lengths'))
    const rows = (from: number, count: number, text: string) =>
      log.write(
        Array.from({ length: count }, (_, index) => insert(String(from + index), { text })),
        asService,
      )
    await rows(0, 1_000, 'x')
    for (let from = 1_000; from < 1_300; from += 50) await rows(from, 50, 'x'.repeat(50_000))
    await rows(1_300, 5_000, 'x')
    const batches: number[] = []
    for await (const batch of (await log.snapshot(['ann'])).batches)
      batches.push(JSON.parse(`[${batch}]`).length)
    await log.close()
    expect(batches.reduce((sum, count) => sum + count, 0)).toBe(6_300)
    // Those that follow the first of the long ones.
    expect(batches.filter((count) => count <= 6).length).toBeGreaterThan(10)
    expect(Math.max(...batches.slice(-3))).toBe(1_000)
  })

  test('holds no connection for a short response', async () => {
    const log = await openSqlLog(await postgres.database('short'), { maxDeltaReaders: 1 })
    await log.write([insert('1')], asService)
    const reads = await Promise.all(Array.from({ length: 5 }, () => log.delta(['ann'], 0)))
    expect(reads).toHaveLength(5)
    await log.close()
  })
})
