import type { Clock } from '../../base/environment.ts'
import type { Logger } from '../../base/logger.ts'
import type { Models } from '../../models/models.ts'
import type { Rejection, TxOp } from '../../protocol/tx.ts'
import type { CommittedBy } from '../change-hook.ts'
import { canonicalText } from '../log/canonical.ts'
import { checkOps } from '../log/check-ops.ts'
import type { Log, OnCommitted, Verdict } from '../log/log.ts'
import { ownershipJudge, ownRecord } from '../log/ownership.ts'
import { toRejection } from '../log/rejection.ts'
import { RuleFailure } from '../log/rules.ts'
import { TypeUnavailable } from '../log/type-unavailable.ts'
import { type ActAs, roleFor } from './act-as.ts'
import { ApplicationRules } from './application-rules.ts'
import type { Authorize } from './authorize.ts'
import { unavailable } from './failure.ts'
import type { Identity } from './identify.ts'
import type { Prepare } from './prepare.ts'
import type { SentTransaction } from './read-transactions.ts'

export interface DecideOptions {
  readonly log: Log
  readonly epochOf: (history: string, owners: readonly string[]) => string
  readonly ownerField: string
  readonly models: Models | undefined
  readonly maxRecordBytes: number
  readonly authorize: Authorize | undefined
  readonly prepare: Prepare | undefined
  readonly as: ActAs | undefined
  /** Returns a digest of a text that is only compared. */
  readonly digest: (text: string) => string
  /** Returns the function to call with the changes of a transaction. */
  readonly listenerFor: (by: CommittedBy) => OnCommitted | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/** The options, and the values that are the same for all transactions of one request. */
export interface DecideContext extends DecideOptions {
  /** Resolves with the history of the log. */
  readonly history: () => Promise<string>
}

/**
 * Resolves with the verdict on a transaction: the stored one, or a new one; or with TypeUnavailable if
 * there is none because of one type. Everything that does not depend on the
 * records is decided before taking the log's lock. Throws a Failure if no decision is possible now.
 */
export async function decide(
  { id, since, epoch, ops, bases = [], requires = [] }: SentTransaction,
  { caller, owners }: Identity,
  options: DecideContext,
): Promise<Verdict | TypeUnavailable> {
  const { log, ownerField, models, maxRecordBytes, digest, as } = options
  const checked = checkedOps(ops)
  const transaction = { id, since, ops: checked.ops, bases: [...bases], requires: [...requires] }
  const rules = new ApplicationRules(transaction, {
    ...options,
    caller,
    judgeFor: (mayChangeOwner) =>
      ownershipJudge({ ownerField, models, maxRecordBytes, owners, mayChangeOwner }),
    ownRecord: (stored) => ownRecord(stored, owners),
  })
  // `since`, `epoch` and `bases` describe the state of the client. They may differ when the client sends the
  // transaction again.
  const body = digest(canonicalText([ops, requires]))
  const comparableOps = await toComparableOps(checked.ops, epoch, owners, options)
  try {
    const { judge, ...begun } = await rules.begin(checked.refused)
    const role = as && { as: () => roleFor(as, caller) }
    const sent = { caller: caller.userId, owners, id, digest: body, ops: comparableOps, bases, requires }
    return await log.transact(
      { ...sent, ...role, ...begun },
      judge,
      options.listenerFor({ tx: id, userId: caller.userId }),
    )
  } catch (error) {
    if (error instanceof TypeUnavailable) return error
    if (!(error instanceof RuleFailure)) throw error
    options.logger.error('A transaction cannot be decided: `authorize`, `prepare` or `as` failed.', {
      id,
      reason: error.message,
    })
    throw unavailable('Transactions cannot be authorized at the moment.', 5)
  } finally {
    rules.end()
  }
}

/** If `epoch` is of another history, nobody knows what has changed since then, so every change of the record counts. */
async function toComparableOps(
  ops: readonly TxOp[],
  epoch: unknown,
  owners: readonly string[],
  { history, epochOf }: DecideContext,
): Promise<readonly TxOp[]> {
  if (typeof epoch !== 'string' || ops.every((op) => op.unchangedSince === undefined)) return ops
  if (epochOf(await history(), owners) === epoch) return ops
  return ops.map((op) => (op.unchangedSince === undefined ? op : { ...op, unchangedSince: 0 }))
}

function checkedOps(ops: readonly unknown[]): { readonly ops: TxOp[]; readonly refused?: Rejection } {
  try {
    return { ops: checkOps(ops) }
  } catch (error) {
    return { ops: [], refused: toRejection(error) }
  }
}
