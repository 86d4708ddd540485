import { UnauthenticatedError } from '../base/errors.ts'
import { epochAndCallerOf } from '../protocol/guards.ts'
import type { StoreConnection } from '../storage/store.ts'
import type { Disk } from './disk.ts'
import { metaKeys } from './format.ts'
import { readLife } from './meta.ts'
import { readOutbox } from './outbox.ts'

/** The outbox of a database that this client does not use, because the service had another address then. */
export function readFormerOutbox(former: StoreConnection) {
  return former.transaction({ tables: ['meta', 'outbox'], mode: 'read' }, async (tx) => {
    const [life, caller] = await Promise.all([readLife(tx), tx.get('meta', metaKeys.caller)])
    const { records, failed, unreadable } = await readOutbox(tx, life)
    return { records, hasMore: failed.length + unreadable.length > 0, ...epochAndCallerOf({ caller }) }
  })
}

/**
 * Moves the transactions of `former` to `disk`, under the same ids, so that moving them again does no harm. Resolves
 * with whether nothing is left. Rejects with a StorageError, and with an UnauthenticatedError if they are another
 * user's.
 */
export async function moveOutbox(former: StoreConnection, disk: Disk): Promise<boolean> {
  const { records, hasMore, caller } = await readFormerOutbox(former)
  if (records.length > 0) {
    const present = await disk.data.readCaller()
    if (caller !== undefined && present !== undefined && caller !== present) {
      const message = 'The writes at a former address belong to another user.'
      throw new UnauthenticatedError(message, { code: 'other_user' })
    }
    const keep = records.map((record) => ({ caller, ...record, key: undefined }))
    await disk.outbox.write((write) => write({ keep }))
    await former.transaction({ tables: ['outbox'], mode: 'write', durability: 'strict' }, (tx) => {
      for (const { key } of records) if (key !== undefined) tx.delete('outbox', key)
    })
  }
  return !hasMore
}
