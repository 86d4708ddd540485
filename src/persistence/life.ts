import type { StorageError } from '../base/errors.ts'
import { closedConnection } from '../storage/indexeddb-failures.ts'
import type { StoreConnection } from '../storage/store.ts'
import { readLife } from './fence.ts'
import { lifeKey, signedOut } from './outbox.ts'

/** Resolves with whether the user may have signed out, if the database is gone or another one. */
export type WasDeleted = () => Promise<boolean>

/**
 * Resolves with `undefined` if the database is in the life `life`: see `Database.signOut`. If not, resolves with an error
 * of code `signed_out`; or, if the browser has evicted the database, with the error of a connection that it has closed.
 */
export async function whyOtherLife(
  connection: StoreConnection,
  life: string | undefined,
  wasDeleted: WasDeleted,
  signal?: AbortSignal,
): Promise<StorageError | undefined> {
  const options = { tables: ['meta', 'outbox'], mode: 'read', ...(signal && { signal }) } as const
  const [now, begun] = await connection.transaction(options, (tx) =>
    Promise.all([readLife(tx), tx.get('outbox', lifeKey)]),
  )
  if (life === undefined || now === life) return undefined
  // Only a sign-out stores the life in the outbox.
  return begun !== undefined || (await wasDeleted()) ? signedOut() : closedConnection(true)
}
