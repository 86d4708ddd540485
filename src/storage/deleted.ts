import type { Store, StoreTransaction } from './store.ts'

/** The database that keeps the mark, and its key. */
const [database, key] = ['instep deleted', 'any']

async function use<T>(
  store: Store,
  mode: 'read' | 'write',
  body: (tx: StoreTransaction) => T | Promise<T>,
): Promise<T> {
  const connection = await store.open(database)
  try {
    return await connection.transaction({ tables: ['meta'], mode, durability: 'strict' }, body)
  } finally {
    connection.close()
  }
}

/**
 * Notes in `store` that a database of it is deleted on purpose. A frozen page that finds its database gone can so tell
 * that from an eviction, which takes the mark, too. The mark names no user.
 */
export function markDeleted(store: Store): Promise<void> {
  return use(store, 'write', (tx) => tx.put('meta', key, true))
}

/** Resolves with whether any database of `store` was deleted on purpose since the store was empty. */
export async function hasDeleted(store: Store): Promise<boolean> {
  return (await use(store, 'read', (tx) => tx.get('meta', key))) !== undefined
}
