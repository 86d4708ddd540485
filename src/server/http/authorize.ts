import type { JsonValue } from '../../protocol/json.ts'
import type { RejectionCode, WireTransaction } from '../../protocol/tx.ts'
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
 * A rejection means that it cannot be told now: the request is answered with 503, and sent again.
 */
export type Authorize = (
  transaction: WireTransaction,
  caller: Caller,
) => Authorization | undefined | Promise<Authorization | undefined>
