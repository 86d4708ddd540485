import { resolveEnvironment } from '../base/environment.default.ts'
import { StorageError } from '../base/errors.ts'
import { ConnectionLost } from './connection-lost.ts'
import { unlessBlocked } from './deadline.ts'
import { markDeleted } from './deleted.ts'
import { closedConnection, noStorage, openFailure } from './indexeddb-failures.ts'
import { addName, namePrefix, readNames, removeName } from './indexeddb-names.ts'
import { resultOf } from './indexeddb-request.ts'
import { transact } from './indexeddb-transaction.ts'
import { type Store, type StoreConnection, tables } from './store.ts'

/** Increase this number when the tables change. The data in them has a separate format number. */
const version = 1

export interface IndexedDbOptions {
  /**
   * The factory to use; the classes, such as `IDBRequest`, are always the global ones. @default the global `indexedDB`,
   * looked up at each opening
   */
  readonly indexedDB?: IDBFactory | undefined
}

/**
 * Returns a store that keeps its data in the browser's IndexedDB: one database for each name, with one object store for
 * each table. Its promises reject with a StorageError; `no_storage` if there is no IndexedDB.
 */
export function indexedDbStore(options: IndexedDbOptions = {}): Store {
  const store: Store = {
    kind: 'durable',
    // All clients of one database belong to one origin.
    shared: (_, environment) => environment,
    open: (name) => inIndexedDb(options, async (factory) => connect(await openDatabase(factory, name))),
    names: () => indexedDbNames(options),
    destroy: (name) =>
      inIndexedDb(options, async (factory) => {
        // Applications call `destroy` directly, without the time limits of a client.
        const { clock } = resolveEnvironment()
        // A full disk must not prevent the deletion.
        if (name.startsWith(namePrefix)) await unlessBlocked(clock, markDeleted(store)).catch(() => {})
        await unlessBlocked(clock, resultOf(factory.deleteDatabase(name)))
        void removeName(factory, name)
      }),
  }
  return store
}

/** Resolves with the names of the databases that stores have made. Rejects with a StorageError. */
export function indexedDbNames(options: IndexedDbOptions = {}): Promise<readonly string[]> {
  return inIndexedDb(options, readNames)
}

/** Runs `work` with the factory. Rejects with a StorageError. */
async function inIndexedDb<T>(
  { indexedDB }: IndexedDbOptions,
  work: (factory: IDBFactory) => Promise<T>,
): Promise<T> {
  try {
    const factory = indexedDB ?? globalThis.indexedDB
    if (!factory) throw noStorage()
    return await work(factory)
  } catch (error) {
    throw openFailure(error)
  }
}

async function openDatabase(factory: IDBFactory, name: string): Promise<IDBDatabase> {
  const request = factory.open(name, version)
  request.onupgradeneeded = () => {
    for (const table of tables) request.result.createObjectStore(table)
    void addName(factory, name)
  }
  const db = await resultOf(request)
  const missing = tables.find((table) => !db.objectStoreNames.contains(table))
  if (missing === undefined) return db
  db.close()
  throw new StorageError(
    'unavailable',
    `The IndexedDB database has no table ${missing}, so other code made it; use another \`identity\`.`,
  )
}

function connect(db: IDBDatabase): StoreConnection {
  const loss = new ConnectionLost()
  let isDeliberate = false
  const close = () => {
    isDeliberate = true
    db.close()
  }
  // Another tab deletes the database or opens a newer version, and waits for this connection to close. Running
  // transactions still complete.
  db.addEventListener('versionchange', () => {
    close()
    loss.tell(closedConnection(false))
  })
  db.addEventListener('close', () => loss.tell(closedConnection(true)))
  return {
    transaction: (options, body) => transact(db, () => isDeliberate, options, body),
    close,
    onLost: (listener) => loss.on(listener),
  }
}
