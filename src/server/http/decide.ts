import { toError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { Models } from '../../models/models.ts'
import type { Rejection, TxOp, WireTransaction } from '../../protocol/tx.ts'
import type { Caller, OwnerField } from '../auth/caller.ts'
import type { CommittedBy } from '../change-hook.ts'
import { canonicalText } from '../log/canonical.ts'
import { checkOps } from '../log/check-ops.ts'
import type { Log, OnCommitted, Verdict } from '../log/log.ts'
import { ownershipJudge } from '../log/ownership.ts'
import { toRejection } from '../log/rejection.ts'
import { type Authorize, type Leave, leaveOf } from './authorize.ts'
import { unavailable } from './failure.ts'
import type { Identity } from './identify.ts'
import type { SentTransaction } from './read-transactions.ts'

export interface DecideOptions {
  readonly log: Log
  readonly epochOf: (history: string, owner: string) => string
  readonly ownerField: OwnerField
  readonly models: Models | undefined
  readonly maxRecordBytes: number
  readonly authorize: Authorize | undefined
  /** Shortens a text that is only compared. */
  readonly digest: (text: string) => string
  /** Returns the function to call with the changes of a transaction. */
  readonly listenerFor: (by: CommittedBy) => OnCommitted | undefined
  readonly logger: Logger
}

/** The options, and the values that are the same for all transactions of one request. */
export interface Deciding extends DecideOptions {
  /** Resolves with the history of the log. */
  readonly history: () => Promise<string>
}

/**
 * Resolves with the verdict on a transaction: the stored one, or a new one. Everything that does not depend on the
 * records is decided before taking the log's lock. Throws a Failure if no decision is possible now.
 */
export async function decide(
  { id, since, epoch, ops, bases = [], requires = [] }: SentTransaction,
  { caller, owner }: Identity,
  options: Deciding,
): Promise<Verdict> {
  const { log, ownerField, models, maxRecordBytes, digest } = options
  const checked = checkedOps(ops)
  const transaction = { id, since, ops: checked.ops, bases: [...bases], requires: [...requires] }
  const { refused, mayChangeOwner } = checked.refused
    ? { ...checked, mayChangeOwner: false }
    : await authorized(transaction, caller, options)
  const judge = ownershipJudge({ ownerField, models, maxRecordBytes, owner, mayChangeOwner })
  // `since`, `epoch` and `bases` describe the state of the client. They may differ when the client sends the
  // transaction again.
  const body = digest(canonicalText([ops, requires]))
  const comparableOps = await toComparableOps(checked.ops, epoch, owner, options)
  return log.transact(
    { caller: caller.userId, owner, id, digest: body, refused, ops: comparableOps, bases, requires },
    judge,
    options.listenerFor({ tx: id, userId: caller.userId }),
  )
}

/** If `epoch` is of another history, nobody knows what has changed since then, so every change of the record counts. */
async function toComparableOps(
  ops: readonly TxOp[],
  epoch: unknown,
  owner: string,
  { history, epochOf }: Deciding,
): Promise<readonly TxOp[]> {
  if (typeof epoch !== 'string' || ops.every((op) => op.unchangedSince === undefined)) return ops
  if (epochOf(await history(), owner) === epoch) return ops
  return ops.map((op) => (op.unchangedSince === undefined ? op : { ...op, unchangedSince: 0 }))
}

function checkedOps(ops: readonly unknown[]): { readonly ops: TxOp[]; readonly refused?: Rejection } {
  try {
    return { ops: checkOps(ops) }
  } catch (error) {
    return { ops: [], refused: toRejection(error) }
  }
}

async function authorized(
  transaction: WireTransaction,
  caller: Caller,
  { authorize, logger }: DecideOptions,
): Promise<Leave> {
  try {
    return leaveOf(await authorize?.(transaction, caller))
  } catch (error) {
    logger.error('A transaction cannot be authorized.', {
      id: transaction.id,
      reason: toError(error).message,
    })
    throw unavailable('Transactions cannot be authorized at the moment.', 5)
  }
}
