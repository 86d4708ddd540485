import { randomUUID } from 'node:crypto'
import { Kysely, PostgresDialect, type RawBuilder, sql } from 'kysely'
import type { ClientConfig } from 'pg'
import type { Clock, Random } from '../../../base/environment.ts'
import { ConfigurationError, toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { loadPeer } from '../../optional-peer.ts'
import { checkAddress } from './address.ts'
import { changedNotice, channel } from './channel.ts'
import type { Db, SqlDatabase } from './database.ts'
import { keepListening } from './listener.ts'
import { withNetworkErrors } from './network-errors.ts'
import { mappingText } from './position.ts'
import { maxPartMs } from './slow-deltas.ts'
import { Sockets } from './sockets.ts'
import { isRefused } from './sql-state.ts'

/**
 * Settings of each session.
 * - `jit` is off, because compiling a plan takes longer than the small queries themselves.
 * - A cached plan would keep assuming the present size of the tables, so plans are made for each query.
 * - `read committed` makes statements wait for concurrent changes rather than fail.
 * - A policy of row-level security must not hide rows: a read that it would filter fails.
 * - What a trigger of the application has put into `pg_temp` must not hide a type or a table: it comes last.
 * - Commits must be durable: if a crash undid a commit that was answered, its sids would be used twice.
 */
const session = `
  set jit = off; set plan_cache_mode = force_custom_plan; set default_transaction_isolation = 'read committed'; set row_security = off;
  select set_config('search_path', current_setting('search_path') || ', pg_temp', false);
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`

/** The time limit of a read, in ms: longer than any client waits for it. */
const readMs = 60_000

/** The time limit of a migration, in ms: it may build an index of everything. */
const migrationMs = 3_600_000

/**
 * The number of clients' transactions on tables of the application at once, and how long each waits for a row that
 * somebody else has locked, in ms. The client sends it again later: it must not keep the connection from others.
 */
const maxAppliers = 8
const rowLockMs = 2_000

/** How long connections may take to close, in ms, before they are cut. */
const closeMs = 5_000

export interface PostgresOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** The maximum number of connections for bootstraps; further bootstraps wait. */
  readonly maxReaders: number
  /** The maximum number of connections for deltas. */
  readonly maxDeltaReaders: number
  /** How long to wait for a connection, and for a statement other than a reader's, in ms. @default 10_000 */
  readonly maxWaitMs?: number
}

/** Opens the PostgreSQL database at `url`. Connections are made as needed. */
export async function openPostgres(url: string, options: PostgresOptions): Promise<SqlDatabase> {
  const { clock, random, logger, maxReaders, maxDeltaReaders, maxWaitMs = 10_000 } = options
  checkAddress(url)
  const { Client, Pool } = await loadPeer('pg', async () => (await import('pg')).default)
  const sockets = new Sockets()
  const config: ClientConfig = {
    connectionString: url,
    application_name: 'instep',
    stream: () => sockets.make(),
    connectionTimeoutMillis: maxWaitMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    lock_timeout: maxWaitMs,
    idle_in_transaction_session_timeout: readMs,
  }
  const lost = ({ message }: Error) => logger.warn('A connection to PostgreSQL is lost.', { reason: message })
  const unset = ({ message }: Error) => logger.warn('PostgreSQL refuses a setting.', { reason: message })
  const connect = (max: number, answerMs: number, prepared = false, more: ClientConfig = {}): Db => {
    // A statement that is given up here also ends on the server, and with it its locks.
    const pool = new Pool({ ...config, ...more, max, statement_timeout: answerMs })
    // An idle connection reports its error here too; the handler below logs it.
    pool.on('error', () => {})
    pool.on('connect', (client) => {
      client.on('error', lost)
      client.query(session).catch(unset)
    })
    const reached = withNetworkErrors(pool, { clock, prepared, answerMs })
    return new Kysely({ dialect: new PostgresDialect({ pool: reached }) })
  }
  // The server reports first that the log's lock is not available, so the connection can be reused.
  const writers = connect(2, maxWaitMs, true, {
    lock_timeout: Math.ceil(maxWaitMs / 2),
    // A process that hangs or disappears must not keep the log's lock.
    idle_in_transaction_session_timeout: maxWaitMs,
  })
  const appliers = connect(maxAppliers, maxWaitMs, true, {
    lock_timeout: Math.min(rowLockMs, maxWaitMs),
    idle_in_transaction_session_timeout: maxWaitMs,
  })
  const migrators = connect(1, migrationMs)
  const followers = connect(2, maxWaitMs)
  const [readers, deltas] = [connect(maxReaders, readMs), connect(maxDeltaReaders, maxPartMs * 2)]
  const close = async () => {
    const undo = clock.after(closeMs, () => sockets.cut())
    await Promise.all([migrators, writers, appliers, followers, readers, deltas].map((db) => db.destroy()))
    await sockets.closed()
    undo()
  }
  const history = await checkEncoding(followers)
    .then(() => historyOf(followers, logger))
    .catch(async (error) => {
      await close()
      throw error
    })

  /** Distinguishes this process's notifications, whose changes it knows, from those of other processes. */
  const origin = randomUUID()
  const listenerOptions = {
    clock,
    random,
    logger,
    connect: async (onNotice: (payload: string) => void, onLost: (error: Error) => void) => {
      const client = new Client(config)
      client.on('notification', ({ payload = '' }) => onNotice(payload))
      client.on('error', onLost)
      const end = () => client.end().catch(lost)
      try {
        await client.connect()
        await client.query(`listen ${channel}`)
        return { close: end }
      } catch (error) {
        void end()
        throw error
      }
    },
  }
  return {
    migrators,
    writers,
    appliers,
    maxAppliers,
    followers,
    readers,
    deltas,
    history,
    notify: sql`pg_notify(${channel}, ${origin})`,
    listen: (listener) =>
      keepListening({
        ...listenerOptions,
        onListening: () => {
          listener('written')
          listener('changed')
        },
        onNotice: (payload) => {
          if (payload === changedNotice) listener('changed')
          else if (payload !== origin) listener('written')
        },
      }),
    close,
  }
}

/** Throws a ConfigurationError if the database cannot store all text of UTF-8. */
async function checkEncoding(db: Db): Promise<void> {
  const { rows } = await sql<{ encoding: string }>`select getdatabaseencoding() as encoding`.execute(db)
  const encoding = rows[0]?.encoding ?? ''
  // SQL_ASCII stores bytes as they are.
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return
  throw new ConfigurationError(
    'database',
    `The encoding of the PostgreSQL database is ${encoding}, which cannot store all text; use one with encoding UTF8.`,
  )
}

/**
 * The stored history, extended by ids of the tables in this database. A dump or a copy of the database has other oids.
 * If data is loaded into existing tables, another transaction than before writes the row of the first migration, which never
 * changes afterwards. `vacuum`, `cluster` and `reindex` leave all of these ids as they are.
 */
const tableHistory = sql<string>`history || ':' || (select oid from pg_database where datname = current_database())
  || ':' || tableoid || ':' || coalesce((select xmin::text from instep_migration where name = '001'), '') || ${mappingText}`

/**
 * The name of the history. A recovery to a point in time and a promoted standby begin a new timeline; another server
 * has another system identifier. A base backup that is simply started has both unchanged: no server can distinguish
 * this from a crash, so the stored name has to be changed by hand. If the server does not reveal these ids, the name
 * covers the tables only.
 */
async function historyOf(db: Db, logger: Logger): Promise<RawBuilder<string>> {
  const server = sql<string>`(select system_identifier from pg_control_system())
    || ':' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`
  try {
    await sql`select ${server}`.execute(db)
    return sql<string>`${tableHistory} || ':' || ${server}`
  } catch (error) {
    if (!isRefused(error)) throw error
    logger.warn(
      'PostgreSQL does not reveal when another server takes its place; run `instep epoch --new` whenever that happens.',
      { reason: toError(error).message },
    )
    return tableHistory
  }
}
