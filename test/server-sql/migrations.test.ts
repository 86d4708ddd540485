import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { silentLogger } from '../../src/base/logger.ts'
import type { SqlDatabase } from '../../src/server/log/sql/database.ts'
import { migrate } from '../../src/server/log/sql/migrations.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { openPGlite } from '../../src/server/log/sql/pglite.ts'
import { openPostgres } from '../../src/server/log/sql/postgres.ts'
import { insert } from '../server/harness.ts'
import { as, txOf } from '../server/log-contract/support.ts'
import { ownPostgres } from '../support/own-postgres.ts'

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
const tx = txOf('019ac1f0-5d4c-7b1e-9c55-2f0d2f6f8a10', [insert('1')])

describe.each<[string, () => Promise<SqlDatabase>]>([
  ['PGlite', () => openPGlite(undefined, options)],
  ['PostgreSQL', async () => openPostgres(await postgres.database('versions'), options)],
])('on %s', (_, open) => {
  test('tables of another version are refused in one sentence, and stay as they are', async () => {
    const { migrators, close } = await open()
    await migrate(migrators)
    await migrate(migrators)
    await sql`update instep_migration set name = '1'`.execute(migrators)
    await expect(migrate(migrators)).rejects.toMatchObject({
      name: 'ConfigurationError',
      message:
        'The tables of the database are of another version of Instep; use that version, or an empty database.',
    })
    const { rows } = await sql`select name from instep_migration`.execute(migrators)
    expect(rows).toEqual([{ name: '1' }])
    await close()
  })
})

test('processes that start at once create the tables once', async () => {
  const address = await postgres.database('together')
  const logs = await Promise.all(Array.from({ length: 6 }, () => openSqlLog(address)))
  for (const log of logs) expect(await log.transact(tx, as('ann'))).toEqual({ sid: 1 })
  await Promise.all(logs.map((log) => log.close()))
})

test('the tables are created, even if that takes longer than any write may', async () => {
  const address = await postgres.database('slow')
  await postgres.run(
    'slow',
    `create function slowly() returns event_trigger language plpgsql as $$ begin perform pg_sleep(1); end $$;
    create event trigger slow on ddl_command_end when tag in ('CREATE INDEX') execute function slowly()`,
  )
  const log = await openSqlLog(address, { maxWaitMs: 500 })
  expect(await log.transact(tx, as('ann'))).toEqual({ sid: 1 })
  await log.close()
})
