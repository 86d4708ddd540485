import { resolveEnvironment } from '../../../base/environment.default.ts'
import type { Clock, Random } from '../../../base/environment.ts'
import { wrongOption } from '../../../base/errors.ts'
import { harmless, type Logger, silentLogger } from '../../../base/logger.ts'
import { given } from '../../defined.ts'
import { peer } from '../../optional-peer.ts'
import type { Retention } from '../retention.ts'
import { isPostgres } from './address.ts'
import { checkLogOptions } from './check-options.ts'
import type { SqlLog } from './sql-log.ts'

export interface SqlLogOptions {
  /** How long nothing may be taken from a read, in ms, before it is cut. @default 30_000 */
  readonly readerIdleMs?: number | undefined
  /** How long an answer may be taken, in ms, before the rest of it is copied to a file, and its connection freed. @default 5_000 */
  readonly spoolAfterMs?: number | undefined
  /** How long an answer may be taken in all, in ms, before it is cut. @default 1_800_000 */
  readonly maxReadMs?: number | undefined
  /** The most connections to PostgreSQL for bootstraps; more of these wait. @default 8 */
  readonly maxReaders?: number | undefined
  /** The most connections to PostgreSQL for deltas, which so wait behind no bootstrap. @default 4 */
  readonly maxDeltaReaders?: number | undefined
  /**
   * How long a request waits for a connection to PostgreSQL, or for the one that a folder has, in ms, before it is
   * answered with 503; and how long a write waits for others, and then for PostgreSQL. @default 10_000
   */
  readonly maxWaitMs?: number | undefined
  /** What of the history may be forgotten; clients whose position that reaches start from a snapshot. @default nothing */
  readonly retention?: Retention | undefined
  readonly logger?: Logger | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
}

type LogOption = Exclude<keyof SqlLogOptions, 'logger' | 'clock' | 'random'>

/** Those that are the log's alone. */
export const logOptions = {
  readerIdleMs: true,
  spoolAfterMs: true,
  maxReadMs: true,
  maxReaders: true,
  maxDeltaReaders: true,
  maxWaitMs: true,
  retention: true,
} satisfies Record<LogOption, true>

/**
 * Whether `name` names a database: an address of a PostgreSQL, or a folder, which begins with no other scheme. An address
 * in quotes or behind a space is none: a folder of that name would hold its password.
 */
export function namesDatabase(name: string): boolean {
  return name === 'memory:' || isPostgres(name) || !/^(\w[\w+.-]+:|$)|:\/\//.test(name)
}

/**
 * A log in the PostgreSQL that an address like `postgres://user:password@host/database` names, or in a folder, which
 * is made where there is none and is one process's alone; `memory:` keeps it as long as the process lives. Its tables
 * are made, or brought up to date. Rejects with a ConfigurationError for a wrong option, for a folder that another
 * process has, and where a package is missing.
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
    ...given(options),
    logger: harmless(options.logger ?? silentLogger),
  }
  const { KyselyLog, openDatabase } = await peer('kysely', () => import('./open-database.ts'))
  return new KyselyLog(await openDatabase(database, resolved), resolved)
}
