import { isObject } from '../../protocol/json.ts'
import type { RejectionCode } from '../../protocol/tx.ts'
import { WriteRejectedError } from '../log/rejection.ts'
import { causeOf, isDenied, isOfTable, isTooLong, isUndecided, sqlStateOf } from '../log/sql/sql-state.ts'

export interface RefusalOptions {
  /** The index of the op in its transaction. */
  readonly index?: number | undefined
  /**
   * Whether the op ran under the role of its caller. An op that this role may not do is then rejected as `forbidden`.
   */
  readonly isOfCaller?: boolean
}

/** The SQLSTATE of an error that says nothing about the data of an op, but about its table, rights or triggers. */
export function tableFaultOf(
  error: unknown,
  { isOfCaller = false }: RefusalOptions = {},
): string | undefined {
  const isFault = isOfTable(error) && !(isOfCaller && isDenied(error))
  return isFault ? `A client's write failed with SQLSTATE ${sqlStateOf(error)}.` : undefined
}

/**
 * The rejection of a client's transaction whose op at `index`, or whose end, raised `error`. `undefined` if another try
 * may succeed. Does not quote the database's message, which may contain data of others.
 */
export function rejectionOf(error: unknown, options: RefusalOptions = {}): WriteRejectedError | undefined {
  const state = sqlStateOf(error)
  if (state === '' || isUndecided(error)) return undefined
  const isForbidden = options.isOfCaller === true && isDenied(error)
  const code = isForbidden ? 'forbidden' : isTooLong(error) ? 'too_large' : 'invalid'
  return rejection(code, state, options.index, constraintOf(causeOf(error)))
}

/** The rejection of a transaction that took too long each time. */
export function refuseCanceled(): WriteRejectedError {
  return rejection('invalid', '57014')
}

/** The rejection of the op at `index`, whose row a policy hides from the role of the caller. */
export function refuseHidden(index: number): WriteRejectedError {
  return rejection('forbidden', '42501', index)
}

function rejection(
  code: RejectionCode,
  state: string,
  index?: number,
  constraint?: string,
): WriteRejectedError {
  const by = constraint === undefined ? 'The database' : `The constraint ${constraint}`
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
