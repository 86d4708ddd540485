import { PGlite } from '@electric-sql/pglite'
import { afterEach, expect, test, vi } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import type { SqlQuery } from '../../src/server/log/sql/sql-log.ts'
import { insert, remove } from '../server/harness.ts'
import { asService } from './judge.ts'

afterEach(() => void vi.restoreAllMocks())

/** The number of entries of an index that were read so far. */
async function entriesRead(query: SqlQuery, index: string): Promise<number> {
  await query('select pg_stat_force_next_flush()')
  const [row] = await query(
    'select idx_tup_read::int as read from pg_stat_user_indexes where indexrelname = $1',
    [index],
  )
  return Number(row?.read)
}

/**
 * The entries of `index` that `read` reads in a log that `filling` has filled. Nobody has collected statistics, since a
 * PGlite has no autovacuum.
 */
async function entriesReadBy(filling: string, index: string, read: 'snapshot' | 'delta'): Promise<number> {
  const log = await openSqlLog('memory:')
  await log.sql((query) => query(filling))
  // The counts of a transaction are added after its end.
  const counted = async () => {
    await log.sql((query) => entriesRead(query, index))
    return log.sql((query) => entriesRead(query, index))
  }
  const before = await counted()
  const { batches } = read === 'snapshot' ? await log.snapshot(['ann']) : await log.delta(['ann'], 0)
  for await (const batch of batches) expect(batch).not.toBe('')
  const after = await counted()
  await log.close()
  return after - before
}

test('each page of a snapshot reads only its own rows, however many remain', async () => {
  // The planner expects as many rows as of a table with 500 000.
  const filling = `
    with filled as (
      insert into instep_record (t, id, owner, sid, p)
      select 'Todo', n::text, 'ann', n, '{"text":"some text"}' from generate_series(1, 20000) n
    ), planned as (
      update pg_class set relpages = 200, reltuples = 500000 where relname = 'instep_record'
    )
    update instep_state set head = 20000, horizon = 20000`
  const read = await entriesReadBy(filling, 'instep_record_owner', 'snapshot')
  // Each row is also counted, twice up to the length from which a snapshot is long.
  expect(read).toBeGreaterThanOrEqual(60_000)
  expect(read).toBeLessThan(65_000)
})

test('each page of a delta reads only its own changes, however many remain', async () => {
  const filling = `
    with filled as (
      insert into instep_log (sid, owner, t, id, at, last, frame)
      select n, 'ann', 'Todo', n::text, 0, true, '{"op":"i","p":{"text":"some text"}}' from generate_series(1, 20000) n
    )
    update instep_state set head = 20000`
  const read = await entriesReadBy(filling, 'instep_log_owner', 'delta')
  expect(read).toBeGreaterThanOrEqual(20_000)
  expect(read).toBeLessThan(25_000)
})

test('a delta reads no other changes of an owner to find what is obsolete, though the indexes of records are deeper', async () => {
  const filling = `
    with filled as (
      insert into instep_log (sid, owner, t, id, at, last, frame)
      select n, 'ann', 'Todo', repeat('x', 400) || n % 4000, 0, true,
        case when n <= 4000 then '{"op":"i","p":{"text":"some text"}}' else '{"op":"u","p":{"text":"other text"}}' end::json
      from generate_series(1, 8000) n
    )
    update instep_state set head = 8000`
  const read = await entriesReadBy(filling, 'instep_log_owner', 'delta')
  expect(read).toBeGreaterThanOrEqual(8_000)
  expect(read).toBeLessThan(12_000)
})

test('no statement of a snapshot counts or reads more than 10 000 records, and the count is that of one moment', async () => {
  const log = await openSqlLog('memory:')
  await log.sql((query) =>
    query(`
      with filled as (
        insert into instep_record (t, id, owner, sid, p)
        select 'Todo', n::text, case when n % 50 = 0 then 'bob' else 'ann' end, n, '{}' from generate_series(1, 25000) n
      )
      update instep_state set head = 25000, horizon = 25000`),
  )
  const query = vi.spyOn(PGlite.prototype, 'query')
  const snapshot = log.snapshot(['ann', 'bob', 'cleo'])
  const written = log.write([insert('more'), remove('25000'), remove('24999')], asService)
  const { count, batches } = await snapshot
  await written
  await batches[Symbol.asyncIterator]().return?.()
  const counts: number[] = []
  for (const [n, [text]] of query.mock.calls.entries()) {
    if (!text.includes('count(*)')) continue
    const { value } = query.mock.settledResults[n] ?? {}
    const rows: readonly { readonly count: number }[] = value.rows
    counts.push(rows.reduce((sum, row) => sum + Number(row.count), 0))
  }
  expect(count).toBe(25_000)
  expect(counts.reduce((sum, each) => sum + each)).toBe(25_000)
  expect(Math.max(...counts)).toBeLessThanOrEqual(10_002)
  await log.close()
})
