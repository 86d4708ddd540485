import { isSyncError } from '../../base/errors.ts'
import { isObject } from '../../protocol/json.ts'
import { WriteRejectedError } from '../log/rejection.ts'
import { stateOf } from '../log/sql/refusal.ts'

/**
 * The classes and codes of SQLSTATE (PostgreSQL, appendix A) that say nothing about the op: no connection, rolled back
 * in favour of another, no resources, no lock in time, ended by an operator or a time limit, a fault of the system. A
 * server that is read only is about to be replaced.
 */
const temporary = ['08', '40', '53', '55P03', '57', '58', 'XX', '25006', '25P03', '25P04']

/** The statement took longer than the time limit, or somebody ended it. */
const canceled = '57014'

/** The error of the database, without what wraps it. */
function causeOf(error: unknown): unknown {
  return isSyncError(error, 'NetworkError') ? error.cause : error
}

export function isCanceled(error: unknown): boolean {
  return stateOf(causeOf(error)) === canceled
}

/** Whether the database rolled back in favour of another transaction, so that the next try may succeed. */
export function gaveWay(error: unknown): boolean {
  return stateOf(causeOf(error)).startsWith('40')
}

/**
 * The rejection of a client's transaction whose op at `index`, or whose end, raised `error`. `undefined` if another try
 * may succeed. Does not quote the database's message, which may contain data of others.
 */
export function refusalOf(error: unknown, index?: number): WriteRejectedError | undefined {
  const cause = causeOf(error)
  const state = stateOf(cause)
  if (state === '' || temporary.some((known) => state === known || state.slice(0, 2) === known))
    return undefined
  return refusal(state, constraintOf(cause), index)
}

/** The rejection of a transaction that took too long each time. */
export function refuseCanceled(): WriteRejectedError {
  return refusal(canceled, undefined, undefined)
}

function refusal(
  state: string,
  constraint: string | undefined,
  index: number | undefined,
): WriteRejectedError {
  const by = constraint === undefined ? 'The database' : `The constraint ${constraint}`
  return new WriteRejectedError('invalid', `${by} refused the data with SQLSTATE ${state}.`, {
    state,
    ...(constraint !== undefined && { constraint }),
    ...(index !== undefined && { op: index }),
  })
}

function constraintOf(error: unknown): string | undefined {
  const constraint = isObject(error) ? error.constraint : undefined
  return typeof constraint === 'string' && constraint !== '' ? constraint : undefined
}
