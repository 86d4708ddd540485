import { RejectedError, wrongOption } from '../base/errors.ts'
import type { OutboxRecord } from '../persistence/outbox.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Outbox } from './outbox.ts'
import { LocalTransaction, type Transaction } from './transaction.ts'

/**
 * The transactions that a transaction with `ops` builds on and requires. `requires`: the required transactions that the
 * application lists; a rejected or undone one counts as the transaction that it was written again as. Throws a
 * RejectedError if a required transaction has failed, and a ConfigurationError if `requires` is not a list of
 * transactions.
 */
export function linksOf(
  ops: readonly TxOp[],
  outbox: Outbox,
  requires: readonly Transaction[],
): Pick<OutboxRecord, 'bases' | 'requires'> {
  const listed: readonly (Transaction | undefined)[] = Array.isArray(requires) ? requires : [undefined]
  const named = listed.flatMap(requirement)
  return { bases: outbox.basesOf(ops), requires: [...new Set([...named, ...outbox.inserting(ops)])] }
}

/** The id to send as a requirement, as a list; empty if the data already contains the transaction. */
function requirement(required: Transaction | undefined): readonly string[] {
  if (!(required instanceof LocalTransaction))
    throw wrongOption('mutate.requires', 'must be a list of transactions.')
  let current = required
  while (hasFailed(current)) {
    if (!current.rewrittenAs) {
      const message = `A required transaction was ${current.state}.`
      throw new RejectedError('dependency_rejected', message)
    }
    current = current.rewrittenAs
  }
  return current.state === 'synced' ? [] : [current.id]
}

/** Whether the transaction will not be applied unless it is written again. */
export function hasFailed({ state }: Transaction): boolean {
  return state === 'rejected' || state === 'failed' || state === 'cancelled' || state === 'discarded'
}
