import type { LocalTransaction } from '../outbox/transaction.ts'
import type { OverlayChange } from '../replica/overlay.ts'

/** Lays `transactions` on top of all others, in their order, those that are rejected left out; `gone` are laid no more. */
export function layAgain(
  transactions: readonly LocalTransaction[],
  gone: readonly LocalTransaction[] = [],
): OverlayChange {
  return {
    lift: [...gone, ...transactions].map(({ id }) => id),
    lay: transactions.filter(({ state }) => state !== 'rejected').map(({ record }) => record),
  }
}
