import { StorageError } from '../base/errors.ts'
import { epochAndCallerOf } from '../protocol/guards.ts'
import type { StoreTransaction } from '../storage/store.ts'
import { metaKeys } from './format.ts'

/** Returns a random name for the life of a new database: see `Connection`. */
export type NewLife = () => string

/** Returns the owner of this client's data, as the service names the user; `undefined` while that is not known. */
export type Caller = () => string | undefined

/**
 * The key of the current life in the outbox table, once a user has signed out. `meta` has the life, too; with this
 * copy, a change of the outbox needs no other table. The key sorts after all entries.
 */
export const lifeKey = '~~'

/** Resolves with the stored life. */
export async function readLife(tx: StoreTransaction): Promise<string | undefined> {
  const life = await tx.get('meta', metaKeys.life)
  return typeof life === 'string' ? life : undefined
}

/** Resolves with the stored life. If there is none, stores a new one. */
export async function ensureLife(tx: StoreTransaction, newLife: NewLife): Promise<string> {
  const stored = await readLife(tx)
  if (stored !== undefined) return stored
  const life = newLife()
  tx.put('meta', metaKeys.life, life)
  return life
}

/** Resolves with the stored owner of the data. */
export async function readCaller(tx: StoreTransaction): Promise<string | undefined> {
  return epochAndCallerOf({ caller: await tx.get('meta', metaKeys.caller) }).caller
}

/** Raises the fence above the stored one and above `heard`, which locks out the leader. Resolves with the new fence. */
export async function raiseIn(tx: StoreTransaction, heard = 0): Promise<number> {
  const former = await tx.get('meta', metaKeys.fence)
  const fence = Math.max(typeof former === 'number' ? former : 0, heard) + 1
  tx.put('meta', metaKeys.fence, fence)
  return fence
}

/** Removes all data. The outbox, the fence, the life and the caller stay, so that the data stays this user's. */
export function drop(tx: StoreTransaction): void {
  for (const key of [metaKeys.head, metaKeys.manifest, metaKeys.repair]) tx.delete('meta', key)
  for (const table of ['pages', 'journal'] as const) tx.delete(table, {})
}

/** The error of each write after the user has signed out. */
export function signedOut(): StorageError {
  return new StorageError('signed_out', 'The user has signed out: nothing more is stored or sent.')
}
