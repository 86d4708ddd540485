import { randomUUID } from 'node:crypto'
import { Kysely, PostgresDialect, type RawBuilder, sql } from 'kysely'
import type { ClientConfig } from 'pg'
import type { Clock, Random } from '../../../base/environment.ts'
import { ConfigurationError, toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { peer } from '../../optional-peer.ts'
import { checkAddress } from './address.ts'
import type { Db, SqlDatabase } from './database.ts'
import { keepListening } from './listener.ts'
import { reaching } from './reach.ts'
import { isDenied } from './refusal.ts'
import { Sockets } from './sockets.ts'

const channel = 'instep'

/**
 * What is read is little, however much there is: to compile a plan takes longer. One for good would be one for the size
 * that the tables have now. What a single statement changes is to wait for others, and not to give way to them. And a
 * commit that a crash undoes after it was answered would have its sids given again.
 */
const session = `
  set jit = off; set plan_cache_mode = force_custom_plan; set default_transaction_isolation = 'read committed';
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`

/** How long an answer to a read may take, in ms: longer than any client waits for it. */
const readMs = 60_000

/** How long a new version of the tables may take, in ms: an index of all that there is. */
const migrationMs = 3_600_000

/** How long connections may take to end, in ms, before they are cut. */
const closeMs = 5_000

export interface PostgresOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** The most connections for bootstraps; more of these wait. */
  readonly maxReaders: number
  /** The most connections for deltas. */
  readonly maxDeltaReaders: number
  /** How long a connection is waited for, and the answer to a statement that is none of a reader's, in ms. @default 10_000 */
  readonly maxWaitMs?: number
}

/** A PostgreSQL at `url`, over connections that are made as they are needed. */
export async function openPostgres(url: string, options: PostgresOptions): Promise<SqlDatabase> {
  const { clock, random, logger, maxReaders, maxDeltaReaders, maxWaitMs = 10_000 } = options
  checkAddress(url)
  const { Client, Pool } = await peer('pg', async () => (await import('pg')).default)
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
    // What is given up here ends there too, and with it the locks that it holds.
    const pool = new Pool({ ...config, ...more, max, statement_timeout: answerMs })
    // Of a connection that is not in use it says once more what the connection says below.
    pool.on('error', () => {})
    pool.on('connect', (client) => {
      client.on('error', lost)
      client.query(session).catch(unset)
    })
    const reached = reaching(pool, { clock, prepared, answerMs })
    return new Kysely({ dialect: new PostgresDialect({ pool: reached }) })
  }
  // The server says first that the log's lock is not to be had, so that the connection is still of use.
  const writers = connect(2, maxWaitMs, true, {
    lock_timeout: Math.ceil(maxWaitMs / 2),
    // A process that hangs, or is gone without a word, must not keep the log's lock.
    idle_in_transaction_session_timeout: maxWaitMs,
  })
  const migrators = connect(1, migrationMs)
  const followers = connect(2, maxWaitMs)
  const [readers, deltas] = [connect(maxReaders, readMs), connect(maxDeltaReaders, readMs)]
  const close = async () => {
    const undo = clock.after(closeMs, () => sockets.cut())
    await Promise.all([migrators, writers, followers, readers, deltas].map((db) => db.destroy()))
    await sockets.closed()
    undo()
  }
  const history = await checkEncoding(followers)
    .then(() => historyOf(followers, logger))
    .catch(async (error) => {
      await close()
      throw error
    })

  /** Tells this process's own notifications, of which it knows, from those of others. */
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
    followers,
    readers,
    deltas,
    single: false,
    history,
    notify: sql`pg_notify(${channel}, ${origin})`,
    listen: (listener) =>
      keepListening({
        ...listenerOptions,
        onListening: listener,
        onNotice: (payload) => {
          if (payload !== origin) listener()
        },
      }),
    close,
  }
}

/** Throws a ConfigurationError for a database that would refuse what one of UTF-8 holds. */
async function checkEncoding(db: Db): Promise<void> {
  const { rows } = await sql<{ encoding: string }>`select getdatabaseencoding() as encoding`.execute(db)
  const encoding = rows[0]?.encoding ?? ''
  // The second takes bytes as they come.
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return
  throw new ConfigurationError(
    'database',
    `The encoding of the PostgreSQL's database is ${encoding}, in which not every text can be written; name one whose encoding is UTF8.`,
  )
}

/**
 * Names the tables as they were made in this database, besides what is stored. A dump, or a copy of the database, has other
 * oids; and data that is read into tables as they are is written by another transaction than the one that made the first
 * version's row, which nobody changes. `vacuum`, `cluster` and `reindex` leave all of these as they are.
 */
const madeHere = sql<string>`history || ':' || (select oid from pg_database where datname = current_database())
  || ':' || tableoid || ':' || coalesce((select xmin::text from instep_migration where name = '1'), '')`

/**
 * Recovery to a point in time, and a standby that takes over, begin a new timeline; another server has another system
 * identifier. A base backup that is simply started has both as they were: no server can tell it from a crash, so after
 * that the stored name has to be changed by hand. Where a server does not tell these, the tables alone name the history.
 */
async function historyOf(db: Db, logger: Logger): Promise<RawBuilder<string>> {
  const server = sql<string>`(select system_identifier from pg_control_system())
    || ':' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`
  try {
    await sql`select ${server}`.execute(db)
    return sql<string>`${madeHere} || ':' || ${server}`
  } catch (error) {
    if (!isDenied(error)) throw error
    logger.warn(
      'PostgreSQL does not tell when another server takes its place; after that, give the history another name.',
      { reason: toError(error).message },
    )
    return madeHere
  }
}
