import { isSyncError } from '../../base/errors.ts'
import { isObject } from '../../protocol/json.ts'
import { WriteRejectedError } from '../log/rejection.ts'
import { sqlStateOf } from '../log/sql/refusal.ts'

/**
 * The classes and codes of SQLSTATE (PostgreSQL, appendix A) that say nothing about the op: no connection, rolled back
 * in favour of another, no resources, no lock in time, ended by an operator or a time limit, a fault of the system. A
 * server that is read only is about to be replaced.
 */
const temporary = ['08', '40', '53', '55P03', '57', '58', 'XX', '25006', '25P03', '25P04']

/** The statement took longer than the time limit, or somebody ended it. */
const canceled = '57014'

/** The error of the database, without what wraps it. */
export function causeOf(error: unknown): unknown {
  return isSyncError(error, 'NetworkError') ? error.cause : error
}

export function isCanceled(error: unknown): boolean {
  return sqlStateOf(causeOf(error)) === canceled
}

/** Whether the database rolled back in favour of another transaction, so that the next try may succeed. */
export function wasRolledBack(error: unknown): boolean {
  return sqlStateOf(causeOf(error)).startsWith('40')
}

/** A policy, or a right of the role. */
const denied = '42501'

/** The data is longer than the database can store, such as a text in an index. */
const tooLong = '54000'

export interface RefusalOptions {
  /** The index of the op in its transaction. */
  readonly index?: number | undefined
  /**
   * Whether the op ran under the role of its caller. An op that this role may not do is then rejected as `forbidden`.
   */
  readonly isOfCaller?: boolean
}

/** Whether another try may succeed, by the SQLSTATE. */
export function isTemporary(error: unknown): boolean {
  const state = sqlStateOf(causeOf(error))
  return temporary.some((known) => state === known || state.slice(0, 2) === known)
}

/** Whether the database itself refused a statement, rather than being away, busy, full or stopped. */
export function isOfDatabase(error: unknown): boolean {
  const state = sqlStateOf(causeOf(error))
  return state !== '' && !/^(08|25|40|531|533|534|55|57|58)/.test(state)
}

/** The SQLSTATE of an error that says nothing about the data of an op, but about its table, rights or triggers. */
export function tableFaultOf(
  error: unknown,
  { isOfCaller = false }: RefusalOptions = {},
): string | undefined {
  const state = sqlStateOf(causeOf(error))
  const isFault = /^(42|54)/.test(state) && state !== tooLong && !(isOfCaller && state === denied)
  return isFault ? `A client's write failed with SQLSTATE ${state}.` : undefined
}

/**
 * The rejection of a client's transaction whose op at `index`, or whose end, raised `error`. `undefined` if another try
 * may succeed. Does not quote the database's message, which may contain data of others.
 */
export function rejectionOf(error: unknown, options: RefusalOptions = {}): WriteRejectedError | undefined {
  const cause = causeOf(error)
  const state = sqlStateOf(cause)
  if (state === '' || isTemporary(cause)) return undefined
  return rejection(state, constraintOf(cause), options)
}

/** The rejection of a transaction that took too long each time. */
export function refuseCanceled(): WriteRejectedError {
  return rejection(canceled, undefined)
}

/** The rejection of the op at `index`, whose row a policy hides from the role of the caller. */
export function refuseHidden(index: number): WriteRejectedError {
  return rejection(denied, undefined, { index, isOfCaller: true })
}

function rejection(
  state: string,
  constraint: string | undefined,
  { index, isOfCaller = false }: RefusalOptions = {},
): WriteRejectedError {
  const by = constraint === undefined ? 'The database' : `The constraint ${constraint}`
  const code = isOfCaller && state === denied ? 'forbidden' : state === tooLong ? 'too_large' : 'invalid'
  return new WriteRejectedError(code, `${by} refused the data with SQLSTATE ${state}.`, {
    state,
    ...(constraint !== undefined && { constraint }),
    ...(index !== undefined && { op: index }),
  })
}

function constraintOf(error: unknown): string | undefined {
  const constraint = isObject(error) ? error.constraint : undefined
  return typeof constraint === 'string' && constraint !== '' ? constraint : undefined
}
