import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, isSyncError, toError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Retention } from '../server/log/retention.ts'
import { isPostgres } from '../server/log/sql/address.ts'
import { namesDatabase, openSqlLog } from '../server/log/sql/open.ts'
import type { SqlLog } from '../server/log/sql/sql-log.ts'
import type { TableMappings } from '../server/tables/mapping.ts'
import { CommandError, UsageError } from './failure.ts'
import type { Settings } from './settings.ts'

export const databaseOption = {
  about: 'The database: `memory:`, a folder, or the address of a PostgreSQL database',
  value: 'memory:|folder|postgres://…',
}

export const lastingDatabaseOption = {
  about: 'The database: a folder, or the address of a PostgreSQL database',
  value: 'folder|postgres://…',
}

const lastingExpected = 'a folder, or an address like `postgres://user@host/name`'

/** The database that the settings name. Throws a UsageError if there is none, or if the name is invalid. */
export function databaseIn(settings: Settings, expected = `\`memory:\`, ${lastingExpected}`): string {
  const name = settings.required('database', expected)
  if (namesDatabase(name)) return name
  throw new UsageError(`\`--database\` must be ${expected}.`)
}

/** Like {@link databaseIn}, but throws a UsageError for `memory:`. */
export function lastingDatabaseIn(settings: Settings): string {
  const name = databaseIn(settings, lastingExpected)
  if (name !== 'memory:') return name
  throw new UsageError('The database `memory:` is lost when the process ends; use a folder or PostgreSQL.')
}

/**
 * Like {@link lastingDatabaseIn}, but throws a CommandError for a folder without a database of Instep, so that none is
 * created.
 */
export function presentDatabaseIn(settings: Settings): string {
  const name = lastingDatabaseIn(settings)
  if (isPostgres(name) || existsSync(join(name, 'complete'))) return name
  throw new CommandError(`The folder ${name} has no database; check \`--database\`.`)
}

export interface OpenOptions {
  readonly logger: Logger
  readonly retention?: Retention
  readonly tables?: TableMappings | undefined
}

/**
 * Opens the log of a database. Rejects with one sentence, which contains no password, if the database cannot be used.
 */
export function openLog(name: string, options: OpenOptions): Promise<SqlLog> {
  return withCommandErrors(name, () => openSqlLog(name, options))
}

/** Runs `work`. If `work` fails because the database cannot be used, rejects with a CommandError that says why. */
export async function withCommandErrors<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const cause = isSyncError(error, 'NetworkError') ? error.cause : error
    if (isSyncError(cause) || cause instanceof CommandError) throw cause
    throw new CommandError(`${titleOf(name)} cannot be used: ${reasonOf(cause)}.`, { cause })
  }
}

/** The name of a database for a sentence: without user and password. */
function titleOf(name: string): string {
  if (!isPostgres(name)) return `The database in the folder ${name}`
  if (!URL.canParse(name)) return 'The PostgreSQL database of `--database`'
  const { host, pathname, searchParams } = new URL(name)
  return `The PostgreSQL database at ${searchParams.get('host') ?? host}${pathname}`
}

const unknownCa =
  'its certificate is from an unknown CA; set `sslrootcert` in the address to the file of the CA'

/** Reasons by codes of Node and OpenSSL and by SQLSTATEs (PostgreSQL, appendix A). */
const reasonByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there',
  ENOENT: 'nothing answers there',
  ENOTFOUND: 'there is no such host',
  ETIMEDOUT: 'it does not answer in time',
  EACCES: 'this user has no permission',
  EROFS: 'its file system is read only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'it is a file, not a folder',
  EEXIST: 'it is a file, not a folder',
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownCa,
  SELF_SIGNED_CERT_IN_CHAIN: unknownCa,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownCa,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownCa,
  '28P01': 'the password is wrong',
  '28000': 'this user may not connect, or only over TLS; for TLS, add `?sslmode=verify-full` to the address',
  '3D000': 'there is no such database',
  '42501': 'this user has no permission',
  '42P01': 'it has no tables of Instep',
  '53300': 'it has too many connections',
  '57P03': 'it is starting or stopping',
}

function reasonOf(error: unknown): string {
  const { message } = toError(error)
  // If a file such as a certificate is missing, the message names the file. Otherwise ENOENT is about a socket.
  const known = message.startsWith('ENOENT') ? undefined : reasonByCode[codeOf(error)]
  return known ?? message.replace(/\.$/, '')
}
