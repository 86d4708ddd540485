import { codeOf, isSyncError } from '../../../base/errors.ts'
import { isObject } from '../../../protocol/json.ts'

/** What an error of the database says. `none`: it has no SQLSTATE, as without a connection. */
type Sort =
  | 'none'
  /** No connection, too many connections, an intervention of an operator, or a transaction that took too long. */
  | 'away'
  /** The statement took longer than the time limit, or somebody ended it. */
  | 'canceled'
  /** No room: the disk is full, or another limit of the system is used up. */
  | 'full'
  /** No memory, which may be because of the data. */
  | 'memory'
  /** The database rolled back in favour of another transaction. */
  | 'rolledBack'
  /** A lock was not available in time. */
  | 'locked'
  /** The server is read-only, because another server has taken over or because it has not taken over itself yet. */
  | 'readOnly'
  | 'notReady'
  /** The state of the session or of an object does not allow it. */
  | 'misplaced'
  /** A fault of the system, or of PostgreSQL itself. */
  | 'system'
  | 'internal'
  /** The data breaks a type or a constraint. */
  | 'data'
  /** The data is longer than the database can store, such as a text in an index. */
  | 'tooLong'
  /** A statement or a definition exceeds a limit. */
  | 'tooComplex'
  /** A table, a column or a function is not as a statement expects. */
  | 'schema'
  | 'missingFunction'
  /** A policy, or a right of the role. */
  | 'denied'
  /** Not supported, as on Amazon Aurora. */
  | 'unsupported'
  | 'other'

/** The SQLSTATEs (PostgreSQL, appendix A), and their classes, which are the first two characters. */
const sorts: Readonly<Record<string, Sort>> = {
  '08': 'away',
  '0A': 'unsupported',
  '22': 'data',
  '23': 'data',
  '25': 'misplaced',
  '25006': 'readOnly',
  '25P03': 'away',
  '25P04': 'away',
  '40': 'rolledBack',
  '42': 'schema',
  '42501': 'denied',
  '42883': 'missingFunction',
  '53': 'full',
  '53200': 'memory',
  '53300': 'away',
  '54': 'tooComplex',
  '54000': 'tooLong',
  '55': 'misplaced',
  '55000': 'notReady',
  '55P03': 'locked',
  '57': 'away',
  '57014': 'canceled',
  '58': 'system',
  XX: 'internal',
}

/** The SQLSTATE of `error`, or '' if it has none. The codes of Node look similar, but begin with an E. */
export function sqlStateOf(error: unknown): string {
  const code = codeOf(causeOf(error))
  return /^[^E][0-9A-Z]{4}$/.test(code) ? code : ''
}

/** The error of the database, without what wraps it. */
export function causeOf(error: unknown): unknown {
  return isSyncError(error, 'NetworkError') ? error.cause : error
}

function sortOf(error: unknown): Sort {
  const state = sqlStateOf(error)
  if (state === '') return 'none'
  // A single sleeping session can fill the queue of notifications. Only the source file distinguishes this.
  const cause = causeOf(error)
  if (state === '54000' && isObject(cause) && cause.file === 'async.c') return 'full'
  return sorts[state] ?? sorts[state.slice(0, 2)] ?? 'other'
}

const saying =
  (...some: readonly Sort[]) =>
  (error: unknown): boolean =>
    some.includes(sortOf(error))

const busy = ['away', 'canceled', 'full', 'memory', 'rolledBack', 'locked', 'readOnly'] as const
const schema = ['schema', 'missingFunction', 'denied'] as const

/** Whether an error may be temporary, whatever the statement was. */
export const isTemporary = saying('none', ...busy, 'notReady')

/** Whether an error says nothing about a client's op, so that another try may succeed. */
export const isUndecided = saying(...busy, 'system', 'internal')

/** Whether the database itself refused a statement, rather than being away, busy, full or stopped. */
export const isOfDatabase = saying(
  ...schema,
  'data',
  'tooLong',
  'tooComplex',
  'unsupported',
  'memory',
  'internal',
  'other',
)

/** Whether the data of a write to tables of Instep breaks a type, a constraint or a limit. */
export const isOfData = saying('data', 'tooLong', 'tooComplex')

/** Whether tables, columns, functions or rights are not as a statement expects. */
export const isOfSchema = saying(...schema)

/** Whether an error says nothing about the data of an op, but about its table, or about rights or triggers of it. */
export const isOfTable = saying(...schema, 'tooComplex')

export const isDenied = saying('denied')
export const isTooLong = saying('tooLong')
export const isCanceled = saying('canceled')
export const isReadOnly = saying('readOnly', 'notReady')

/** Whether this role or this server cannot do something. */
export const isRefused = saying('denied', 'missingFunction', 'unsupported')

/** Whether the database has no room, as on a full disk. */
export const isFull = saying('full', 'memory')

/** Whether the database rolled back in favour of another transaction, so that the next try may succeed. */
export const wasRolledBack = saying('rolledBack')

/** As {@link wasRolledBack}; or the database could not get a lock. */
export const wasInTheWay = saying('rolledBack', 'locked')
