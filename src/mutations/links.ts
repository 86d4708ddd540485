import { RejectedError, wrongOption } from '../base/errors.ts'
import type { OutboxRecord } from '../persistence/outbox.ts'
import { isName } from '../protocol/guards.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Outbox } from './outbox.ts'
import type { Transaction } from './transaction.ts'

/**
 * The transactions that a transaction with `ops` builds on and requires. `requires`: the required transactions that the
 * application lists. `successorOf`: returns the transaction that replaced a rejected, failed or undone one. Throws a
 * RejectedError if a required transaction has failed, and a ConfigurationError if `requires` is not a list of
 * transactions.
 */
export function linksOf(
  ops: readonly TxOp[],
  outbox: Outbox,
  requires: readonly Transaction[],
  successorOf: (transaction: Transaction) => Transaction | undefined,
): Pick<OutboxRecord, 'bases' | 'requires'> {
  const listed: readonly (Transaction | undefined)[] = Array.isArray(requires) ? requires : [undefined]
  const named = listed.flatMap((transaction) => requirement(transaction, successorOf))
  return { bases: outbox.basesOf(ops), requires: [...new Set([...named, ...outbox.inserting(ops)])] }
}

/** The id to send as a requirement, as a list; empty if the data already contains the transaction. */
function requirement(
  required: Transaction | undefined,
  successorOf: (transaction: Transaction) => Transaction | undefined,
): readonly string[] {
  if (!required || !isName(required.id))
    throw wrongOption('mutate.requires', 'must be a list of transactions.')
  let current = required
  while (hasFailed(current)) {
    const successor = successorOf(current)
    if (!successor) {
      const message = `A required transaction was ${current.state}.`
      throw new RejectedError('dependency_rejected', message)
    }
    current = successor
  }
  return current.state === 'synced' ? [] : [current.id]
}

/** Whether the transaction will not be applied unless it is written again. */
function hasFailed({ state }: Transaction): boolean {
  return state === 'rejected' || state === 'failed' || state === 'cancelled' || state === 'discarded'
}
