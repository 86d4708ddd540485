import type { TxOp } from '../protocol/tx.ts'
import type { Log, OnCommitted, RecordKey } from './log/log.ts'
import { ownershipJudge } from './log/ownership.ts'
import { WriteRejectedError } from './log/rejection.ts'

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
      await removeKeys(keys, (ops) => log.write(ops, judge, count))
      keys = await log.keysOf(owner, perBatch)
    }
  } while (!(await log.forget(owner, userId)))
  return records
}

/**
 * Removes the records of `keys`, in halves if that is too much at once: cascades of the application's tables may remove
 * many more rows. A record that is too much alone is left, as long as others go. Resolves with whether any went.
 */
async function removeKeys(
  keys: readonly RecordKey[],
  write: (ops: readonly TxOp[]) => Promise<unknown>,
  isPart = false,
): Promise<boolean> {
  try {
    await write(keys.map(({ t, id }): TxOp => ({ op: 'd', t, id })))
    return true
  } catch (error) {
    if (!(error instanceof WriteRejectedError) || error.reason !== 'too_large') throw error
    const half = Math.ceil(keys.length / 2)
    const parts = keys.length > 1 ? [keys.slice(0, half), keys.slice(half)] : []
    let hasRemoved = false
    for (const part of parts) if (await removeKeys(part, write, true)) hasRemoved = true
    if (!hasRemoved && !isPart) throw error
    return hasRemoved
  }
}
