// The database of the application, and how it runs SQL.
import { readFile } from 'node:fs/promises'
import { openSqlLog } from 'instep/server'
import { Pool } from 'pg'
import config from './instep.config.mjs'

/** Opens a PostgreSQL, a folder or `memory:`. `query(text, values)` resolves with the rows of a statement. */
export async function openDatabase(database) {
  const log = await openSqlLog(database, { tables: config.tables })
  const { query, end } = database.startsWith('postgres') ? queryByPool(database) : queryByLog(log)
  const [{ found }] = await query("select to_regclass('issues') is not null as found")
  if (!found) {
    for (const file of ['schema.sql', 'seed.sql']) await run(query, file)
    // In a deployment: `npx instep attach --config instep.config.mjs`.
    await log.attach(config.ownerField)
  }
  return { log, query, end }
}

/** An application with a PostgreSQL has connections of its own, and needs nothing of Instep for them. */
function queryByPool(connectionString) {
  const pool = new Pool({ connectionString })
  const query = async (text, values) => (await pool.query(text, values)).rows
  return { query, end: () => pool.end() }
}

/** Only one process reaches a PGlite, and only by its log. */
function queryByLog(log) {
  return { query: (text, values) => log.sql((query) => query(text, values)), end: async () => {} }
}

async function run(query, file) {
  const text = await readFile(new URL(file, import.meta.url), 'utf8')
  for (const statement of text.split(/\n\n+/)) await query(statement)
}
