import { indexedDbStore } from '../../src/storage/indexeddb.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store, StoreTransaction } from '../../src/storage/store.ts'
import { type Database, openDatabase } from './database.ts'
import { ownSqliteStore } from './sqlite.ts'
import { fakeIndexedDb } from './store-fake-indexeddb.ts'
import { VirtualClock } from './virtual.ts'

export const name = 'test'

export const stores: { readonly [what: string]: () => Store } = {
  memory: memoryStore,
  SQLite: () => ownSqliteStore(),
  IndexedDB: () => indexedDbStore({ indexedDB: fakeIndexedDb() }),
}

/** When whatever is stored through `open` is stored. */
export const storedAt = new VirtualClock().now()

export function open(store: Store): Promise<Database> {
  return openDatabase({ store, name, clock: new VirtualClock() })
}

/** Looks at, or changes, what is stored behind a database's back. */
export async function behind<T>(store: Store, body: (tx: StoreTransaction) => Promise<T>): Promise<T> {
  const connection = await store.open(name)
  try {
    const tables = ['meta', 'pages', 'journal', 'outbox'] as const
    return await connection.transaction({ tables, mode: 'write' }, body)
  } finally {
    connection.close()
  }
}
