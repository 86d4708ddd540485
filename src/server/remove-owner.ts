import type { TxOp } from '../protocol/tx.ts'
import type { Log, OnCommitted } from './log/log.ts'
import { ownershipJudge } from './log/ownership.ts'

/** The maximum number of records that one transaction removes. */
const perBatch = 1_000

/** Whose data to remove. */
export interface RemoveOptions {
  readonly owner: string
  /** The user whose results of transactions are forgotten. @default `owner`, if `ownerField` is `'userId'` */
  readonly userId?: string | undefined
}

/**
 * Removes all records of `owner` in batches, each a transaction, and then everything else that the log keeps of the
 * owner and of `userId`. Resolves with the number of removed records. After an error, call it again to continue.
 */
export async function removeOwner(
  log: Log,
  { owner, userId }: RemoveOptions,
  onCommitted?: OnCommitted,
): Promise<number> {
  // Records that have moved to another owner meanwhile count as absent. Removals need no owner field.
  const judge = ownershipJudge({ ownerField: '', models: undefined, owners: [owner] })
  let records = 0
  const count: OnCommitted = (changes) => {
    records += changes.length
    onCommitted?.(changes)
  }
  do {
    for (let keys = await log.keysOf(owner, perBatch); keys.length > 0; ) {
      const ops = keys.map(({ t, id }): TxOp => ({ op: 'd', t, id }))
      await log.write(ops, judge, count)
      keys = await log.keysOf(owner, perBatch)
    }
  } while (!(await log.forget(owner, userId)))
  return records
}
