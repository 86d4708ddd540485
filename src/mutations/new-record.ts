import { RejectedError, wrongOption } from '../base/errors.ts'
import type { OutboxRecord } from '../persistence/outbox.ts'
import { isName } from '../protocol/guards.ts'
import type { Draft } from './draft.ts'
import { joinImages, joinOps } from './join.ts'
import type { Outbox } from './outbox.ts'
import type { Transaction } from './transaction.ts'
import type { MutateOptions } from './writer.ts'

export type NewRecordOptions = MutateOptions &
  Pick<OutboxRecord, 'id' | 'at' | 'since' | 'epoch' | 'version' | 'retryOf' | 'replaces'> & {
    readonly outbox: Outbox
    /** The queued transaction that the new one is joined with and replaces. */
    readonly joined: OutboxRecord | undefined
    /** The transaction that replaced a rejected, failed or undone one. */
    readonly successorOf: (transaction: Transaction) => Transaction | undefined
  }

/**
 * The record of a new transaction. Throws a RejectedError if a required transaction will not happen, and a
 * ConfigurationError if `requires` is not a list of transactions.
 */
export function newRecord({ ops, before }: Draft, options: NewRecordOptions): OutboxRecord {
  const { outbox, joined, successorOf, requires = [], ...rest } = options
  const listed: readonly (Transaction | undefined)[] = Array.isArray(requires) ? requires : [undefined]
  const joinedOps = joined ? joinOps(joined.ops, ops) : ops
  const withoutJoined = (found: readonly string[]) =>
    [...new Set(found)].filter((other) => other !== joined?.id)
  const named = listed.flatMap((transaction) => requirement(transaction, successorOf))
  const required = [...named, ...outbox.inserting(joinedOps)]
  return {
    ...rest,
    state: 'queued',
    ops: joinedOps,
    before: joined ? joinImages(joined.before, before) : before,
    bases: withoutJoined([...(joined?.bases ?? []), ...outbox.basesOf(joinedOps)]),
    requires: withoutJoined([...(joined?.requires ?? []), ...required]),
  }
}

/** The id to send as a requirement, as a list; empty if the data already contains the transaction. */
function requirement(
  required: Transaction | undefined,
  successorOf: NewRecordOptions['successorOf'],
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

/** Whether the transaction will not happen unless it is written again. */
function hasFailed({ state }: Transaction): boolean {
  return state === 'rejected' || state === 'failed' || state === 'cancelled' || state === 'discarded'
}
