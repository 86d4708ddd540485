import { isObject, type JsonValue } from '../../protocol/json.ts'
import { copyPayload } from '../../protocol/json-copy.ts'
import {
  type Rejection,
  type RejectionCode,
  rejectionCodes,
  type WireTransaction,
} from '../../protocol/tx.ts'
import type { Caller } from '../auth/caller.ts'

/** The results of {@link Authorize} other than `undefined`. */
export type Authorization =
  | {
      /** @default 'forbidden' */
      readonly code?: RejectionCode
      /** The reason for the refusal, as one sentence for people. */
      readonly message: string
      readonly details?: JsonValue
    }
  /** Allows the transaction to insert records for other owners, and to move the caller's records to other owners. */
  | { readonly mayChangeOwner: true }

/**
 * Decides whether `caller` may make `transaction`, by the application's own rules. Runs before the rules of ownership.
 * `undefined` allows the transaction. For a transaction that has its verdict already, the function may be called again,
 * and the result is ignored. If the function rejects, or returns anything else, the request is answered with 503 and
 * the client sends it again.
 */
export type Authorize = (
  transaction: WireTransaction,
  caller: Caller,
) => Authorization | undefined | Promise<Authorization | undefined>

/** An {@link Authorization}, checked. */
export interface Leave {
  readonly refused: Rejection | undefined
  readonly mayChangeOwner: boolean
}

/**
 * Checks the result of an application's function. Throws a TypeError for anything that is not an {@link Authorization}.
 */
export function leaveOf(answer: unknown): Leave {
  if (answer === undefined) return { refused: undefined, mayChangeOwner: false }
  const fields: Readonly<Record<string, unknown>> = isObject(answer) ? answer : {}
  const { code = 'forbidden', message, details, mayChangeOwner } = fields
  if (mayChangeOwner === true && message === undefined) return { refused: undefined, mayChangeOwner }
  const isCode = rejectionCodes.some((known) => known === code)
  const isRefusal = typeof message === 'string' && message !== '' && isCode && mayChangeOwner === undefined
  if (isRefusal && 'payload' in copyPayload({ message, details })) {
    const refused = { code: String(code), message, ...(details === undefined ? undefined : { details }) }
    return { refused, mayChangeOwner: false }
  }
  throw new TypeError(
    '`authorize` must return undefined, { message, code?, details? } with a code of the protocol, or { mayChangeOwner: true }.',
  )
}
