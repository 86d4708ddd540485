import { PendingError } from '../base/errors.ts'
import { tables } from '../storage/store.ts'
import type { Connection } from './connection.ts'
import { metaKeys } from './format.ts'
import { drop, lifeKey, raiseIn } from './meta.ts'
import { type OutboxRecord, readOutbox, refuseOtherLife } from './outbox.ts'

export interface SignOut {
  /** The name of the next life: random, so that it never comes twice. */
  readonly life: string
  /** What to do with transactions that are unsent or rejected. `undefined`: there must be none. */
  readonly pending: 'keep' | 'discard' | undefined
  /** Returns the transactions of this client that the disk may lack. */
  readonly own: () => readonly OutboxRecord[]
  /** The ids of transactions that the server has accepted, though the disk may not say so. */
  readonly accepted: readonly string[]
}

export interface SignedOut {
  /** The number of transactions that were unsent. The server may have received some of them without a response. */
  readonly pending: number
  /** The number of transactions that were rejected, or could not be read. */
  readonly rejected: number
  /** Whether transactions are still stored. */
  readonly isKept: boolean
}

/** See `Disk.signOut`. */
export async function signOut(
  connection: Connection,
  { life: next, pending, own, accepted }: SignOut,
): Promise<SignedOut> {
  if (!connection.isOpen) {
    return pending === 'keep'
      ? countUnsent(undefined, own(), 0, 'there is no store to keep them in')
      : countUnsent(pending, own())
  }
  return connection.run({ tables, mode: 'write', durability: 'strict' }, async (tx) => {
    const { life } = connection
    const [, stored] = await Promise.all([refuseOtherLife(tx, life), readOutbox(tx, life), raiseIn(tx)])
    const ids = new Set(stored.records.map(({ id }) => id))
    const records = [...stored.records, ...own().filter(({ id }) => !ids.has(id))]
    const unsettled = records.filter(({ id, state }) => state !== 'accepted' && !accepted.includes(id))
    const signedOut = countUnsent(pending, unsettled, stored.unreadable.length)
    const { isKept } = signedOut
    const keyOf = ({ key = '', id }: OutboxRecord) => (ids.has(id) ? key : `${stored.last}/${id}`)
    drop(tx)
    // Keep the owner of transactions that are kept: no other user may send them.
    if (!isKept) tx.delete('meta', metaKeys.caller)
    if (pending !== 'keep') tx.delete('outbox', {})
    else for (const record of records) tx.delete('outbox', keyOf(record))
    for (const record of isKept ? unsettled : []) {
      const key = keyOf(record)
      tx.put('outbox', key, JSON.stringify({ ...record, key, life: next }))
    }
    tx.put('outbox', lifeKey, next)
    tx.put('meta', metaKeys.life, next)
    return signedOut
  })
}

/** Counts unsent and rejected transactions. Throws a PendingError if there are any and `pending` is `undefined`. */
export function countUnsent(
  pending: SignOut['pending'],
  records: readonly OutboxRecord[],
  unreadable = 0,
  advice?: string,
): SignedOut {
  const rejected = records.filter(({ state }) => state === 'rejected').length + unreadable
  const unsent = records.filter(({ state }) => state === 'queued' || state === 'sending').length
  if (pending === undefined && unsent + rejected > 0) throw new PendingError(unsent, rejected, advice)
  return { pending: unsent, rejected, isKept: pending === 'keep' && records.length + unreadable > 0 }
}
