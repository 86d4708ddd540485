import type { SecretRow, SecretTable } from './secret-table.ts'

/**
 * Runs one statement in PostgreSQL, with `values` for `$1`, `$2` and so on. Resolves with the rows. Wrap the `query` of
 * `pg`, of PGlite or of a query builder.
 */
export type RunSql = (
  statement: string,
  values: readonly (string | number | boolean | null)[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>

type TableName = 'instep_sessions' | 'instep_api_keys'

/** The lock under which the tables are created, since concurrent `CREATE TABLE IF NOT EXISTS` statements can fail. */
const advisoryLock = 7_306_918_544

/**
 * Creates the tables of {@link sqlSessionStore} and {@link sqlKeyStore} if they do not exist. Safe to call from several
 * processes at once.
 */
export async function createAuthTables(run: RunSql): Promise<void> {
  const columns =
    'id text PRIMARY KEY, hash text NOT NULL, user_id text NOT NULL, organization_id text, expires_at bigint, active boolean NOT NULL, owners text'
  const create = (table: TableName) =>
    `CREATE TABLE IF NOT EXISTS ${table} (${columns}); CREATE INDEX IF NOT EXISTS ${table}_user ON ${table} (user_id);`
  await run(
    `DO $$ BEGIN PERFORM pg_advisory_xact_lock(${advisoryLock}); ${create('instep_sessions')} ${create('instep_api_keys')} END $$`,
    [],
  )
}

export function sqlSecretTable(run: RunSql, table: TableName): SecretTable {
  return {
    async insert({ id, hash, userId, organizationId, owners, expiresAt, active }) {
      await run(
        `INSERT INTO ${table} (id, hash, user_id, organization_id, expires_at, active, owners) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [
          id,
          hash,
          userId,
          organizationId ?? null,
          expiresAt ?? null,
          active,
          owners ? JSON.stringify(owners) : null,
        ],
      )
    },
    async find(id) {
      const [row] = await run(`SELECT * FROM ${table} WHERE id = $1`, [id])
      return row && readRow(row)
    },
    async deactivate({ id, userId, organizationId }) {
      await run(
        `UPDATE ${table} SET active = false WHERE ($1::text IS NULL OR id = $1) AND ($2::text IS NULL OR user_id = $2) AND ($3::text IS NULL OR organization_id = $3)`,
        [id ?? null, userId ?? null, organizationId ?? null],
      )
    },
    async deleteExpired(moment) {
      await run(`DELETE FROM ${table} WHERE expires_at <= $1`, [moment])
    },
  }
}

/** Depending on the driver, a `bigint` arrives as a string or as a number. */
function readRow(row: Readonly<Record<string, unknown>>): SecretRow {
  return {
    id: String(row.id),
    hash: String(row.hash),
    userId: String(row.user_id),
    organizationId: row.organization_id === null ? undefined : String(row.organization_id),
    owners: typeof row.owners === 'string' ? JSON.parse(row.owners) : undefined,
    expiresAt: row.expires_at === null ? undefined : Number(row.expires_at),
    active: row.active === true,
  }
}
