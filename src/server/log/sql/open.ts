import { resolveEnvironment } from '../../../base/environment.default.ts'
import type { Clock, Random } from '../../../base/environment.ts'
import { wrongOption } from '../../../base/errors.ts'
import { type Logger, nonThrowing, silentLogger } from '../../../base/logger.ts'
import { defined } from '../../defined.ts'
import { loadPeer } from '../../optional-peer.ts'
import type { TableMappings } from '../../tables/mapping.ts'
import type { Retention } from '../retention.ts'
import { isPostgres } from './address.ts'
import { checkLogOptions } from './check-options.ts'
import type { SqlLog } from './sql-log.ts'

export interface SqlLogOptions {
  /** How long a client may read nothing of a response, in ms, before the read is aborted. @default 30_000 */
  readonly readerIdleMs?: number | undefined
  /**
   * How long a response may take, in ms, before its rest is copied to a temporary file to free the connection. If
   * others wait for the connection, the rest is copied at once. @default 5_000
   */
  readonly spoolAfterMs?: number | undefined
  /** How long a response may take in total, in ms, before it is aborted. @default 1_800_000 */
  readonly maxReadMs?: number | undefined
  /** The maximum number of connections to PostgreSQL for bootstraps; further bootstraps wait. @default 8 */
  readonly maxReaders?: number | undefined
  /**
   * The maximum number of connections to PostgreSQL for deltas, so that deltas need not wait for bootstraps. @default 4
   */
  readonly maxDeltaReaders?: number | undefined
  /**
   * How long a request waits for a connection to the database, in ms, before it is answered with 503. Also how long a
   * write waits for other writes, and then for PostgreSQL. @default 10_000
   */
  readonly maxWaitMs?: number | undefined
  /**
   * How much of the history is kept. A client whose position is forgotten starts from a snapshot. @default everything
   * is kept
   */
  readonly retention?: Retention | undefined
  /**
   * The tables of the application that hold the records of types, by type. `instep attach` attaches them first.
   * @default none: all records are in tables of Instep
   */
  readonly tables?: TableMappings | undefined
  readonly logger?: Logger | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
}

type LogOption = Exclude<keyof SqlLogOptions, 'logger' | 'clock' | 'random'>

/** The options that only a log has. */
export const logOptions = {
  readerIdleMs: true,
  spoolAfterMs: true,
  maxReadMs: true,
  maxReaders: true,
  maxDeltaReaders: true,
  maxWaitMs: true,
  retention: true,
  tables: true,
} satisfies Record<LogOption, true>

/**
 * Whether `name` names a database: the address of a PostgreSQL, a folder, or `memory:`. Names with another scheme are
 * refused, and so are addresses in quotes or after a space: a folder of that name would contain the password.
 */
export function namesDatabase(name: string): boolean {
  return name === 'memory:' || isPostgres(name) || !/^(\w[\w+.-]+:|$)|:\/\//.test(name)
}

/**
 * Opens a log. `database` is an address like `postgres://user:password@host/database`, a folder, or `memory:`, which
 * keeps the log until the process ends. A folder is created if necessary, and belongs to one process. Creates or
 * migrates the tables.
 *
 * Rejects with a ConfigurationError for an invalid option, for a folder that another process uses, and if a package is
 * missing. Rejects with a NetworkError if the database cannot be reached.
 */
export async function openSqlLog(database: string, options: SqlLogOptions = {}): Promise<SqlLog> {
  if (!namesDatabase(database)) {
    const expected = "'memory:', a folder, or an address like 'postgres://user:password@host/database'"
    throw wrongOption('database', `must be ${expected}.`)
  }
  checkLogOptions(options)
  const { clock, random } = resolveEnvironment()
  const resolved = {
    readerIdleMs: 30_000,
    spoolAfterMs: 5_000,
    maxReadMs: 1_800_000,
    maxReaders: 8,
    maxDeltaReaders: 4,
    maxWaitMs: 10_000,
    clock,
    random,
    retention: undefined,
    ...defined(options),
    logger: nonThrowing(options.logger ?? silentLogger),
  }
  const { KyselyLog, openDatabase } = await loadPeer('kysely', () => import('./open-database.ts'))
  return new KyselyLog(await openDatabase(database, resolved), resolved).recognizeTables()
}
