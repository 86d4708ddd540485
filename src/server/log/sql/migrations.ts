import { type Migration, Migrator, sql } from 'kysely'
import { ConfigurationError } from '../../../base/errors.ts'
import type { Db } from './database.ts'

/**
 * The versions of the tables, in the order of their names. Never change a published version. With `collate "C"`, PostgreSQL compares strings by
 * bytes, so they are equal exactly when they are equal in JavaScript. Payloads are `json`, not `jsonb`, which would
 * reorder keys, rewrite numbers and cost time.
 */
const migrations: Readonly<Record<string, Migration>> = {
  '001': {
    async up(db) {
      await sql`
        create table instep_state (
          one boolean primary key default true check (one),
          history text not null,
          head bigint not null,
          horizon bigint not null,
          verdict_horizon bigint not null default 0,
          -- The field by which the data was served; null if it is not known yet.
          owner_field text,
          -- A digest of all attached mappings; null if there is none.
          mapping text,
          -- The head after the last changes that made no frames, because there were too many at once.
          bulk bigint not null default 0
        )`.execute(db)
      await sql`insert into instep_state (history, head, horizon) values (gen_random_uuid(), 0, 0)`.execute(
        db,
      )
      await sql`
        create table instep_log (
          sid bigint primary key,
          owner text collate "C" not null,
          t text collate "C" not null,
          id text collate "C" not null,
          caller text collate "C",
          tx text collate "C",
          at bigint not null,
          last boolean not null,
          frame json not null,
          -- The owner to whom the record moved with this change.
          moved_to text collate "C",
          -- The fields of a record that a client's transaction removed with this change, for an undo.
          removed json
        )`.execute(db)
      await sql`create index instep_log_owner on instep_log (owner, sid)`.execute(db)
      await sql`create index instep_log_record on instep_log (t, id, sid)`.execute(db)
      // The changes that remove or replace a whole record, to find what a later one makes obsolete.
      await sql`
        create index instep_log_whole on instep_log (t, id, sid, owner) where frame->>'op' <> 'u'`.execute(db)
      await sql`
        create table instep_record (
          t text collate "C",
          id text collate "C",
          owner text collate "C" not null,
          sid bigint not null,
          p json not null,
          primary key (t, id)
        )`.execute(db)
      await sql`create index instep_record_owner on instep_record (owner, sid)`.execute(db)
      await sql`
        create table instep_verdict (
          caller text collate "C",
          id text collate "C",
          digest text not null,
          at bigint not null,
          sid bigint,
          error json,
          primary key (caller, id),
          check ((sid is null) <> (error is null))
        )`.execute(db)
      const age = sql`(case
        when id ~ '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-7[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$'
        then greatest(at, ('x' || substr(id, 1, 8) || substr(id, 10, 4))::bit(48)::bigint) end)`
      await sql`create index instep_verdict_age on instep_verdict (${age}) where ${age} is not null`.execute(
        db,
      )
      // The keys of rows that the application has changed, a list for each statement; null is all keys of a type.
      await sql`
        create table instep_change (t text collate "C" not null, ids text[])
        with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)`.execute(db)
      await sql`
        create table instep_table (
          t text collate "C" primary key,
          relation text not null,
          digest text not null,
          earlier text[] not null default '{}',
          columns json not null,
          filled boolean not null,
          attached boolean not null
        )`.execute(db)
      // See src/server/tables/aside.ts.
      await sql`
        create table instep_aside (
          t text collate "C" not null,
          kind text not null,
          id text collate "C" not null,
          reason text not null,
          due timestamptz not null,
          primary key (t, kind, id)
        )`.execute(db)
      await sql`
        create function instep_json(value json) returns jsonb language plpgsql immutable strict as
          $$ begin return value::jsonb; exception when others then return null; end $$`.execute(db)
      await sql`
        create function instep_lock(relation text) returns boolean language plpgsql as $$ begin
          execute 'lock table ' || relation || ' in access share mode nowait';
          return true;
        exception when lock_not_available then return false; end $$`.execute(db)
    },
  },
}

/** The tables and functions that migrations create, with those of the migrator. */
export const tableNames = [
  'instep_aside',
  'instep_change',
  'instep_log',
  'instep_migration',
  'instep_migration_lock',
  'instep_record',
  'instep_state',
  'instep_table',
  'instep_verdict',
] as const
export const functionNames = ['instep_json', 'instep_lock'] as const

/**
 * Migrates the tables to the newest version. Several processes may do so at once. Throws a ConfigurationError if the
 * tables have a version that is not known here.
 */
export async function migrate(db: Db): Promise<void> {
  const schema = await schemaOf(db)
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...migrations }) },
    ...(schema !== null && { migrationTableSchema: schema }),
    migrationTableName: 'instep_migration',
    migrationLockTableName: 'instep_migration_lock',
  })
  const { error } = await migrator.migrateToLatest()
  if (error instanceof Error && error.message.startsWith('corrupted migrations'))
    throw new ConfigurationError(
      'database',
      'The tables of the database are of another version of Instep; use that version, or an empty database.',
    )
  if (error) throw error
}

/**
 * The schema in which the search path finds the tables, or else in which new ones are created. Without a schema, the
 * migrator would also find tables in schemas outside the search path.
 */
async function schemaOf(db: Db): Promise<string | null> {
  const { rows } = await sql<{ name: string | null }>`
    select coalesce((
      select nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.oid = to_regclass('instep_migration')
    ), current_schema()) as name`.execute(db)
  return rows[0]?.name ?? null
}
