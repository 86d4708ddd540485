import { sql } from 'kysely'
import { Client } from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { silentLogger } from '../../src/base/logger.ts'
import type { SqlDatabase } from '../../src/server/log/sql/database.ts'
import { KyselyLog } from '../../src/server/log/sql/kysely-log.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { openDatabase } from '../../src/server/log/sql/open-database.ts'
import { insert, recorder, serviceOf } from '../server/harness.ts'
import { as, txOf } from '../server/log-contract/support.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { asService, eventually } from './judge.ts'

const postgres = ownPostgres()
const options = {
  ...resolveEnvironment(),
  logger: silentLogger,
  maxReaders: 2,
  maxDeltaReaders: 2,
  maxWaitMs: 10_000,
  readerIdleMs: 30_000,
  spoolAfterMs: 5_000,
  maxReadMs: 60_000,
  retention: undefined,
}
let count = 0

beforeEach(() => {
  count += 1
})

const refused =
  /^The table instep_state is at change \d, but instep_log ends with change \d; restore all tables whose names begin with `instep_` from the same backup\.$/

/** A database with three changes. */
async function open(name: string): Promise<{ readonly database: SqlDatabase; readonly log: KyselyLog }> {
  const database = await openDatabase(name, options)
  const log = new KyselyLog(database, options)
  for (const id of ['1', '2', '3']) await log.write([insert(id)], asService)
  return { database, log }
}

const olderState = sql`update instep_state set head = 1`

test.each([
  ['the state is older than the log', olderState],
  ['the log is older than the state', sql`delete from instep_log where sid > 1`],
  ['the log is empty', sql`delete from instep_log`],
])('tables of different moments are refused at the start: %s', async (_, tear) => {
  const name = await postgres.database(`torn${count}`)
  const { database, log } = await open(name)
  await tear.execute(database.writers)
  await log.close()
  await expect(openSqlLog(name)).rejects.toMatchObject({
    name: 'NetworkError',
    message: expect.stringMatching(refused),
  })
})

describe('tables of different moments', () => {
  test('invariant 26: get 503 while the service runs, and reject nothing for good', async () => {
    const name = await postgres.database(`torn${count}`)
    const { database, log } = await open(name)
    const { logger, lines } = recorder()
    const { service, ask } = serviceOf({ database: log, logger })
    expect((await ask('delta?since=0')).status).toBe(200)
    await olderState.execute(database.writers)
    const body = JSON.stringify({ txs: [{ id: 'a', since: 3, ops: [insert('4')] }] })
    const sent = await ask('tx', { method: 'POST', body })
    expect(sent.status).toBe(503)
    expect(sent.headers.get('Retry-After')).not.toBeNull()
    expect((await ask('delta?since=0')).status).toBe(503)
    expect((await ask('bootstrap')).status).toBe(503)
    expect((await service.fetch(new Request('https://sync.test/healthz'))).status).toBe(503)
    expect(lines.some((line) => line.includes('restore all tables'))).toBe(true)
    await expect(log.write([insert('4')], asService)).rejects.toMatchObject({ retryable: true })
    await sql`update instep_state set head = 3`.execute(database.writers)
    expect(await log.transact(txOf('a', [insert('4')]), as('ann'))).toEqual({ sid: 4 })
    expect((await service.fetch(new Request('https://sync.test/healthz'))).status).toBe(200)
    await olderState.execute(database.writers)
    await service.close()
    await expect(openSqlLog(name)).rejects.toThrow(refused)
  }, 120_000)

  test('differ from a trimmed log', async () => {
    const name = await postgres.database(`torn${count}`)
    const { log } = await open(name)
    await log.trim(2)
    expect(await log.position()).toMatchObject({ head: 3, horizon: 2 })
    await log.trim(3)
    expect(await log.write([insert('4')], asService)).toBe(4)
    await log.close()
    const again = await openSqlLog(name)
    expect(await again.position()).toMatchObject({ head: 4, horizon: 3 })
    await again.close()
  }, 120_000)
})

test('a log that is restored during a write rejects nothing', async () => {
  const name = `torn${count}`
  const address = await postgres.database(name)
  const { log } = await open(address)
  const restoring = new Client({ connectionString: address })
  await restoring.connect()
  await restoring.query(
    "begin; insert into instep_log (sid, owner, t, id, at, last, frame) values (4, 'ann', 'Todo', '9', 0, true, '{}')",
  )
  const verdict = log.transact(txOf('a', [insert('4')]), as('ann'))
  const outcome = expect(verdict).rejects.toMatchObject({
    name: 'NetworkError',
    message: expect.stringMatching(refused),
  })
  await eventually(async () => {
    const waiting = await postgres.run(name, 'select from pg_locks where not granted')
    return waiting.length > 0
  })
  await restoring.query('commit')
  await restoring.end()
  await outcome
  await log.close()
})
