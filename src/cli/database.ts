import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, isSyncError, toError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Retention } from '../server/log/retention.ts'
import { isPostgres } from '../server/log/sql/address.ts'
import { namesDatabase, openSqlLog } from '../server/log/sql/open.ts'
import type { SqlLog } from '../server/log/sql/sql-log.ts'
import { CommandError, UsageError } from './failure.ts'
import type { Settings } from './settings.ts'

export const databaseOption = {
  about: 'Where the data is: `memory:`, a folder, or the address of a PostgreSQL',
  value: 'memory:|folder|postgres://…',
}

export const lastingDatabaseOption = {
  about: 'Where the data is: a folder, or the address of a PostgreSQL',
  value: 'folder|postgres://…',
}

const lasting = 'a folder, or an address like `postgres://user@host/name`'

/** The database that the settings name. Throws a UsageError where they name none. */
export function databaseIn(settings: Settings, expected = `\`memory:\`, ${lasting}`): string {
  const name = settings.required('database', expected)
  if (namesDatabase(name)) return name
  throw new UsageError(`\`--database\` is to be ${expected}.`)
}

/** The same, where only one that lasts is of use. */
export function lastingDatabaseIn(settings: Settings): string {
  const name = databaseIn(settings, lasting)
  if (name !== 'memory:') return name
  throw new UsageError('`memory:` ends with the process that has it; name a folder or a PostgreSQL.')
}

/** The same, where nothing is to be made that is not there. Throws a CommandError for a folder that is none of ours. */
export function presentDatabaseIn(settings: Settings): string {
  const name = lastingDatabaseIn(settings)
  if (isPostgres(name) || existsSync(join(name, 'complete'))) return name
  throw new CommandError(`There is no database in the folder ${name}.`)
}

export interface OpenOptions {
  readonly logger: Logger
  readonly retention?: Retention
}

/** The log in `name`. Rejects with one sentence where it cannot be had; it holds no password. */
export function openLog(name: string, options: OpenOptions): Promise<SqlLog> {
  return reaching(name, () => openSqlLog(name, options))
}

/** What `work` gives; where it fails because the database cannot be had, rejects with one sentence that says so. */
export async function reaching<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const cause = isSyncError(error, 'NetworkError') ? error.cause : error
    if (isSyncError(cause) || cause instanceof CommandError) throw cause
    throw new CommandError(`${titleOf(name)} cannot be used: ${reasonOf(cause)}.`, { cause })
  }
}

/** What it is called in a sentence: without the user and the password. */
function titleOf(name: string): string {
  if (!isPostgres(name)) return `The database in the folder ${name}`
  if (!URL.canParse(name)) return 'The PostgreSQL of `--database`'
  const { host, pathname, searchParams } = new URL(name)
  return `The PostgreSQL at ${searchParams.get('host') ?? host}${pathname}`
}

const unknownCa = 'its certificate is of no CA that is known here; name the file of its CA by `sslrootcert`'

/** Node's codes, OpenSSL's, and PostgreSQL's SQLSTATEs (its appendix A). */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there',
  ENOENT: 'nothing answers there',
  ENOTFOUND: 'there is no such host',
  ETIMEDOUT: 'it does not answer in time',
  EACCES: 'this user may not',
  EROFS: 'its file system is read only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'it is a file',
  EEXIST: 'it is a file',
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownCa,
  SELF_SIGNED_CERT_IN_CHAIN: unknownCa,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownCa,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownCa,
  '28P01': 'the password is wrong',
  '28000':
    'this user may not connect, or only over TLS, for which the address ends in `?sslmode=verify-full`',
  '3D000': 'there is no such database',
  '42501': 'this user may not',
  '42P01': 'it holds no data of Instep’s',
  '53300': 'it has too many connections',
  '57P03': 'it is starting or stopping',
}

function reasonOf(error: unknown): string {
  const { message } = toError(error)
  // Of a file, as of a certificate, the message says which one is missing; else it is a socket's.
  const known = message.startsWith('ENOENT') ? undefined : reasons[codeOf(error)]
  return known ?? message.replace(/\.$/, '')
}
