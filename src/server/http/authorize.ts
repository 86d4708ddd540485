import { isObject, type JsonValue } from '../../protocol/json.ts'
import { copyPayload } from '../../protocol/json-copy.ts'
import {
  type Rejection,
  type RejectionCode,
  rejectionCodes,
  type WireTransaction,
} from '../../protocol/tx.ts'
import type { Caller } from '../auth/caller.ts'

/** What {@link Authorize} has to say beside nothing. */
export type Authorization =
  | {
      /** @default 'forbidden' */
      readonly code?: RejectionCode
      /** One sentence for people: why the transaction is refused. */
      readonly message: string
      readonly details?: JsonValue
    }
  /** Lets the transaction make records for other owners, and give away those that are the caller's. */
  | { readonly mayChangeOwner: true }

/**
 * Decides whether `caller` may make `transaction`, by rules of the application's own, before those of ownership. To
 * give nothing lets it pass. It may be asked again about one that has its verdict; then its answer does not count.
 * A rejection means that it cannot be told now, and so does an answer that is none: the request is answered with 503,
 * and sent again.
 */
export type Authorize = (
  transaction: WireTransaction,
  caller: Caller,
) => Authorization | undefined | Promise<Authorization | undefined>

/** What comes of an {@link Authorization}. */
export interface Leave {
  readonly refused: Rejection | undefined
  readonly mayChangeOwner: boolean
}

/** What `answer` comes to, which an application may have made of anything. Throws where it is no answer. */
export function leaveOf(answer: unknown): Leave {
  if (answer === undefined) return { refused: undefined, mayChangeOwner: false }
  const given: Readonly<Record<string, unknown>> = isObject(answer) ? answer : {}
  const { code = 'forbidden', message, details, mayChangeOwner } = given
  if (mayChangeOwner === true && message === undefined) return { refused: undefined, mayChangeOwner }
  const isCode = rejectionCodes.some((known) => known === code)
  const isRefusal = typeof message === 'string' && message !== '' && isCode && mayChangeOwner === undefined
  if (isRefusal && 'payload' in copyPayload({ message, details })) {
    const refused = { code: String(code), message, ...(details === undefined ? undefined : { details }) }
    return { refused, mayChangeOwner: false }
  }
  throw new TypeError(
    '`authorize` is to give nothing, { message, code?, details? } with a code of the protocol, or { mayChangeOwner: true }.',
  )
}
