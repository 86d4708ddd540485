import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { silentLogger } from '../../src/base/logger.ts'
import type { SqlDatabase } from '../../src/server/log/sql/database.ts'
import { KyselyLog } from '../../src/server/log/sql/kysely-log.ts'
import { migrate, migratorOf } from '../../src/server/log/sql/migrations.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { openPGlite } from '../../src/server/log/sql/pglite.ts'
import { openPostgres } from '../../src/server/log/sql/postgres.ts'
import { insert } from '../server/harness.ts'
import { as, framesOf, rowsOf, txOf } from '../server/log-contract/support.ts'
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

/** The tables as the first version made them, with a transaction that was accepted, and one that was not. */
async function fillFirstVersion({ migrators }: SqlDatabase): Promise<void> {
  // A PGlite begins with tables of the version that was built.
  await sql`drop schema public cascade`.execute(migrators)
  await sql`create schema public`.execute(migrators)
  const { error } = await (await migratorOf(migrators)).migrateTo('1')
  if (error) throw error
  for (const statement of [
    `insert into instep_log (sid, owner, t, id, caller, tx, at, last, frame) values (1, 'ann', 'Todo', '1', 'ann', '${tx.id}',
      5, true, '{"sid":1,"t":"Todo","id":"1","op":"i","p":{"userId":"ann"},"at":5,"tx":"${tx.id}"}')`,
    `insert into instep_record (t, id, owner, sid, p) values ('Todo', '1', 'ann', 1, '{"userId":"ann"}')`,
    `insert into instep_verdict (caller, id, digest, at, sid) values ('ann', '${tx.id}', '${JSON.stringify(tx.ops)}', 5, 1)`,
    `insert into instep_verdict (caller, id, digest, at, error) values ('ann', 'b', 'x', 5, '{"code":"exists","message":"No."}')`,
    'update instep_state set head = 1',
  ]) {
    await sql.raw(statement).execute(migrators)
  }
}

describe.each<[string, () => Promise<SqlDatabase>]>([
  ['PGlite', () => openPGlite(undefined, options)],
  ['PostgreSQL', async () => openPostgres(await postgres.database('first'), options)],
])('on %s', (_, open) => {
  test('tables of the first version are migrated with all their content', async () => {
    const database = await open()
    await fillFirstVersion(database)
    const before = await sql<{ history: string }>`select history from instep_state`.execute(database.writers)
    await migrate(database.migrators)
    await migrate(database.migrators)
    const log = new KyselyLog(database, options)
    const { history, ...position } = await log.position()
    expect(position).toEqual({ head: 1, horizon: 0 })
    expect(history).toContain(before.rows[0]?.history)
    expect(await rowsOf(log)).toMatchObject([{ id: '1', v: 1 }])
    expect(await framesOf(log)).toMatchObject([{ sid: 1, tx: tx.id }])
    expect(await log.transact(tx, as('ann'))).toEqual({ sid: 1 })
    const other = txOf('b', [], { digest: 'x' })
    expect(await log.transact(other, as('ann'))).toMatchObject({ error: { code: 'exists' } })
    expect(await log.transact(txOf('c', [insert('2')]), as('ann'))).toEqual({ sid: 2 })
    // They say nothing of the field by which they were served.
    await log.claim('organizationId')
    await expect(log.claim('userId')).rejects.toMatchObject({ option: 'ownerField' })
    await log.claim('organizationId')
    await log.close()
  })
})

test('processes that start at once migrate tables of the first version once', async () => {
  const address = await postgres.database('together')
  const first = await openPostgres(address, options)
  await fillFirstVersion(first)
  await first.close()
  const logs = await Promise.all(Array.from({ length: 6 }, () => openSqlLog(address)))
  for (const log of logs) expect(await log.transact(tx, as('ann'))).toEqual({ sid: 1 })
  await Promise.all(logs.map((log) => log.close()))
})

test('large tables are migrated, even if that takes longer than any write may', async () => {
  const address = await postgres.database('large')
  const first = await openPostgres(address, options)
  await fillFirstVersion(first)
  await first.close()
  await postgres.run(
    'large',
    `create function slowly() returns event_trigger language plpgsql as $$ begin perform pg_sleep(1); end $$;
    create event trigger slow on ddl_command_end when tag in ('CREATE INDEX') execute function slowly()`,
  )
  const log = await openSqlLog(address, { maxWaitMs: 500 })
  expect(await log.transact(tx, as('ann'))).toEqual({ sid: 1 })
  await log.close()
})
