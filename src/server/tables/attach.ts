import { sql } from 'kysely'
import type { Clock } from '../../base/environment.ts'
import { ConfigurationError, wrongOption } from '../../base/errors.ts'
import { channel } from '../log/sql/channel.ts'
import type { Db, SqlDatabase } from '../log/sql/database.ts'
import { functionNames, tableNames } from '../log/sql/migrations.ts'
import { wasInTheWay } from '../log/sql/sql-state.ts'
import { endAside } from './aside.ts'
import { type Attachment, mappingDigest, readAttachments, schemaOfLog } from './attached.ts'
import { checkImmutable, columnsOf, inspect, type MappedTable } from './inspect.ts'
import type { TypeMapping } from './mapping.ts'
import { queueAllKeys } from './queue-all-keys.ts'
import { identifier } from './quote.ts'
import { secureFunctions } from './secure-functions.ts'
import { createTriggers, dropFunction, dropTriggers } from './triggers.ts'

/** How long to wait for the lock of a table at a time, in ms: the application's statements queue meanwhile. */
const lockMs = 2_000
const pauseMs = 1_000
const maxTries = 30

export interface AttachOptions {
  readonly clock: Clock
  /** Records the queued changes. Called after each batch of keys. */
  readonly drain: (tables: readonly MappedTable[]) => Promise<void>
  /** Called with a sentence after each step. */
  readonly onStep: (sentence: string) => void
}

/**
 * Attaches the tables of `mappings`, or changes how they are attached: creates the triggers, and adds all rows to the
 * history. Mends the trigger functions of all attached tables. Safe to interrupt, and to run again. Rejects with a
 * ConfigurationError, before anything is changed, if a table cannot be attached.
 */
export async function attach(
  { migrators: db }: SqlDatabase,
  mappings: readonly TypeMapping[],
  { clock, drain, onStep }: AttachOptions,
): Promise<void> {
  const tables: MappedTable[] = []
  for (const mapping of mappings) tables.push(await inspect(db, mapping))
  for (const table of tables) await checkImmutable(db, table)
  const attachments = await readAttachments(db)
  for (const { mapping, relation } of tables) {
    if (!attachments.has(mapping.type)) await refuseOwnRecords(db, mapping.type)
    const other = [...attachments.values()].find((each) => each.attached && each.relation === relation)
    if (other && other.t !== mapping.type) {
      throw wrongOption(
        `tables.${mapping.type}.table`,
        `names a table that is attached as ${other.t}; detach that first.`,
      )
    }
  }
  const schema = await schemaOfLog(db)
  for (const table of tables) {
    const { type } = table.mapping
    await patiently(clock, () => attachOne(db, table, schema))
    onStep(`${type}: the triggers of ${table.relation} are in place.`)
  }
  for (const table of tables) {
    const { type } = table.mapping
    await queueAllKeys(db, table, () => drain(tables))
    onStep(`${type}: all rows are taken.`)
  }
  await drain(tables)
}

/**
 * Detaches types: drops the triggers. The records stay in the history, and belong to Instep from then on. Safe to
 * interrupt, and to run again. Resolves with the types that were attached.
 */
export async function detach(
  { migrators: db }: SqlDatabase,
  types: readonly string[],
  { clock, onStep }: Pick<AttachOptions, 'clock' | 'onStep'>,
): Promise<void> {
  const attachments = await readAttachments(db)
  const schema = await schemaOfLog(db)
  for (const type of types) {
    const attachment = attachments.get(type)
    if (!attachment?.attached) continue
    await patiently(clock, () =>
      db.transaction().execute(async (trx) => {
        await removeTriggers(trx, attachment, schema)
        await sql`update instep_table set attached = false, filled = false where t = ${type}`.execute(trx)
        await sql`delete from instep_change where t = ${type}`.execute(trx)
        await sql`delete from instep_aside where t = ${type}`.execute(trx)
        await storeMapping(trx)
      }),
    )
    onStep(`${type}: the triggers of ${attachment.relation} are gone.`)
  }
}

async function removeTriggers(db: Db, { t, relation }: Attachment, schema: string): Promise<void> {
  await limitLocks(db)
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass(${relation}) is not null as there`.execute(db)
  if (rows[0]?.there) for (const statement of dropTriggers(relation)) await sql.raw(statement).execute(db)
  await sql.raw(dropFunction(t, schema)).execute(db)
}

/**
 * Detaches all types, and drops everything of Instep: tables, functions, and with them the records and the history. Safe
 * to interrupt, and to run again. Rejects with a ConfigurationError if Instep has records that are in no other table.
 */
export async function detachAll(
  { migrators: db }: SqlDatabase,
  { clock, onStep }: Pick<AttachOptions, 'clock' | 'onStep'>,
): Promise<void> {
  const { rows } = await sql<{ t: string }>`
    select t from instep_record where t not in (select t from instep_table where attached) limit 1`.execute(
    db,
  )
  const [alone] = rows
  if (alone) {
    const message = `The database has records of the type ${alone.t}, which are in Instep alone; delete these first, as by \`instep delete\`, or attach their table again, which forgets those without a row.`
    throw new ConfigurationError('database', message)
  }
  const schema = await schemaOfLog(db)
  const own = (name: string) => `${identifier(schema)}.${identifier(name)}`
  // The types remain marked as attached: if this is interrupted, their records are not taken for Instep's own.
  for (const attachment of (await readAttachments(db)).values()) {
    if (!attachment.attached) continue
    await patiently(clock, () => db.transaction().execute((trx) => removeTriggers(trx, attachment, schema)))
    onStep(`${attachment.t}: the triggers of ${attachment.relation} are gone.`)
  }
  await patiently(clock, () =>
    db.transaction().execute(async (trx) => {
      await limitLocks(trx)
      await sql.raw(`drop table ${tableNames.map(own).join()}`).execute(trx)
      await sql`drop table if exists pg_temp.instep_kept`.execute(trx)
      await sql.raw(`drop function ${functionNames.map(own).join()}`).execute(trx)
    }),
  )
  onStep('Everything of Instep is gone from the database.')
}

async function attachOne(db: Db, table: MappedTable, schema: string): Promise<void> {
  const { type } = table.mapping
  const digest = mappingDigest(table)
  await db.transaction().execute(async (trx) => {
    await limitLocks(trx)
    for (const statement of createTriggers(table, schema, channel)) await sql.raw(statement).execute(trx)
    await sql`
      insert into instep_table as a (t, relation, digest, columns, filled, attached)
      values (${type}, ${table.relation}, ${digest}, ${JSON.stringify(columnsOf(table))}::json, false, true)
      on conflict (t) do update set relation = excluded.relation, digest = excluded.digest, columns = excluded.columns,
        earlier = case when a.digest = excluded.digest then a.earlier else array_append(a.earlier, a.digest) end,
        filled = false, attached = true`.execute(trx)
    await storeMapping(trx)
    await secureFunctions(trx)
    await endAside(trx, type, 'table')
  })
}

/** Waits for the lock of a table only for a while, so that the application's statements do not queue for longer. */
async function limitLocks(db: Db): Promise<void> {
  await sql`select set_config('lock_timeout', ${String(lockMs)}, true)`.execute(db)
}

/** Stores a digest of all attached mappings, which becomes a part of the history's name. */
async function storeMapping(db: Db): Promise<void> {
  await sql`
    update instep_state set mapping = (
      select substr(md5(string_agg(t || ' ' || digest, ',' order by t)), 1, 16) from instep_table where attached
    )`.execute(db)
}

/** Runs `work`, and again after a pause if it could not get a lock in time. */
async function patiently(clock: Clock, work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries === maxTries || !wasInTheWay(error)) throw error
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
    }
  }
}

async function refuseOwnRecords(db: Db, type: string): Promise<void> {
  const { rows } = await sql`select from instep_record where t = ${type} limit 1`.execute(db)
  if (rows.length === 0) return
  throw wrongOption(
    `tables.${type}`,
    'names a type that has records in Instep already; remove these, or use another name for the type.',
  )
}
