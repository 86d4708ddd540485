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
    /** One that it is joined with, and takes the place of. */
    readonly joined: OutboxRecord | undefined
    /** What was made in the place of one that does not stand. */
    readonly successorOf: (transaction: Transaction) => Transaction | undefined
  }

/**
 * A new transaction as it is to be kept. Throws a RejectedError where what it requires will not happen, and a
 * ConfigurationError where that is no transaction.
 */
export function newRecord({ ops, before }: Draft, options: NewRecordOptions): OutboxRecord {
  const { outbox, joined, successorOf, requires = [], ...rest } = options
  const listed: readonly (Transaction | undefined)[] = Array.isArray(requires) ? requires : [undefined]
  const all = joined ? joinOps(joined.ops, ops) : ops
  const others = (found: readonly string[]) => [...new Set(found)].filter((other) => other !== joined?.id)
  const named = listed.flatMap((one) => requirement(one, successorOf))
  const required = [...named, ...outbox.inserting(all)]
  return {
    ...rest,
    state: 'queued',
    ops: all,
    before: joined ? joinImages(joined.before, before) : before,
    bases: others([...(joined?.bases ?? []), ...outbox.basesOf(all)]),
    requires: others([...(joined?.requires ?? []), ...required]),
  }
}

/** The id under which the server is told of it; none where the data shows it already. */
function requirement(
  required: Transaction | undefined,
  successorOf: NewRecordOptions['successorOf'],
): readonly string[] {
  if (!required || !isName(required.id))
    throw wrongOption('mutate.requires', 'must be a list of transactions.')
  let standing = required
  while (isOut(standing)) {
    const successor = successorOf(standing)
    if (!successor) {
      const message = `A transaction that is required was ${standing.state}.`
      throw new RejectedError('dependency_rejected', message)
    }
    standing = successor
  }
  return standing.state === 'synced' ? [] : [standing.id]
}

/** Whether it does not happen as it is. */
function isOut({ state }: Transaction): boolean {
  return state === 'rejected' || state === 'failed' || state === 'cancelled' || state === 'discarded'
}
