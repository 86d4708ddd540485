import { PGlite } from '@electric-sql/pglite'
import { afterEach, expect, test, vi } from 'vitest'
import { bearerToken, createSyncService } from '../../src/server/index.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import type { SqlLog } from '../../src/server/log/sql/sql-log.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { VirtualClock } from '../support/virtual.ts'

const postgres = ownPostgres()
const logs: SqlLog[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  for (const log of logs.splice(0)) await log.close()
})

/** A service whose log has `count` changes, and whose database takes `ms` for each part of a delta. */
async function slowService(count: number, ms: number) {
  const clock = new VirtualClock()
  const log = await openSqlLog('memory:', { clock })
  logs.push(log)
  await log.sql((query) =>
    query(`
      with filled as (
        insert into instep_log (sid, owner, t, id, at, last, frame)
        select n, 'ann', 'Todo', n::text, 0, true, '{"op":"i","p":{"text":"some text"}}' from generate_series(1, ${count}) n
      )
      update instep_state set head = ${count}`),
  )
  const query = PGlite.prototype.query
  vi.spyOn(PGlite.prototype, 'query').mockImplementation(async function slow(this: PGlite, ...args) {
    if (args[0].includes('is_current')) await clock.advance(ms)
    return Reflect.apply(query, this, args)
  })
  const service = createSyncService({
    database: log,
    clock,
    authenticate: async (request) => ({ userId: bearerToken(request) ?? '' }),
    ownerField: 'userId',
  })
  return async (since: number) => {
    const headers = { Authorization: 'Bearer ann' }
    const response = await service.fetch(new Request(`http://x/sync/v1/delta?since=${since}`, { headers }))
    const body = await response.text()
    return response.ok ? response.status : JSON.parse(body).error.code
  }
}

test('a delta whose parts take over 10 s is a reset at the next try, and not for later positions', async () => {
  const deltaFrom = await slowService(8_000, 10_000)
  expect(await deltaFrom(1_000)).toBe(200)
  expect(await deltaFrom(1_000)).toBe('too_many_changes')
  expect(await deltaFrom(500)).toBe('too_many_changes')
  expect(await deltaFrom(7_900)).toBe(200)
})

test('a short delta is never a reset, however busy the database is', async () => {
  const deltaFrom = await slowService(1_000, 10_000)
  expect(await deltaFrom(10)).toBe(200)
  expect(await deltaFrom(10)).toBe(200)
})

test.each(['memory:', 'PostgreSQL'])(
  'the planner knows %s once its statistics are collected',
  async (kind) => {
    const log = await openSqlLog(kind === 'memory:' ? kind : await postgres.database('statistics'))
    logs.push(log)
    await log.sql((query) =>
      query(
        `insert into instep_record (t, id, owner, sid, p) select 'Todo', n::text, 'ann', n, '{}' from generate_series(1, 500) n`,
      ),
    )
    await log.analyze()
    const rows = await log.sql((query) =>
      query("select reltuples::int as count from pg_class where relname = 'instep_record'"),
    )
    expect(rows).toEqual([{ count: 500 }])
  },
)

test('in a folder, statistics are collected every ten minutes', async () => {
  const clock = new VirtualClock()
  const log = await openSqlLog('memory:', { clock })
  logs.push(log)
  await clock.advance(600_000)
  const ofRecords = "select reltuples::int as count from pg_class where relname = 'instep_record'"
  await expect.poll(() => log.sql((query) => query(ofRecords)), { timeout: 10_000 }).toEqual([{ count: 0 }])
})
