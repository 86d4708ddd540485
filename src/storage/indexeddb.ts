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
  const factory = () => factoryOf(options)
  const store: Store = {
    kind: 'durable',
    // All clients of one database belong to one origin.
    shared: (_, environment) => environment,
    async open(name) {
      try {
        return connect(await openDatabase(factory(), name))
      } catch (error) {
        throw openFailure(error)
      }
    },
    names: () => indexedDbNames(options),
    async destroy(name) {
      try {
        // Applications call `destroy` directly, without the time limits of a client.
        const { clock } = resolveEnvironment()
        // A full disk must not prevent the deletion.
        if (name.startsWith(namePrefix)) await unlessBlocked(clock, markDeleted(store)).catch(() => {})
        await unlessBlocked(clock, resultOf(factory().deleteDatabase(name)))
        void removeName(factory(), name)
      } catch (error) {
        throw openFailure(error)
      }
    },
  }
  return store
}

/** Resolves with the names of the databases that stores have made. Rejects with a StorageError. */
export async function indexedDbNames(options: IndexedDbOptions = {}): Promise<readonly string[]> {
  try {
    return await readNames(factoryOf(options))
  } catch (error) {
    throw openFailure(error)
  }
}

function factoryOf({ indexedDB }: IndexedDbOptions): IDBFactory {
  const found = indexedDB ?? globalThis.indexedDB
  if (found) return found
  throw noStorage()
}

async function openDatabase(factory: IDBFactory, name: string): Promise<IDBDatabase> {
  const request = factory.open(name, version)
  request.onupgradeneeded = () => {
    for (const table of tables) request.result.createObjectStore(table)
    void addName(factory, name)
  }
  await resultOf(request)
  const db = request.result
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
  const forced = new ConnectionLost()
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
  db.addEventListener('close', () => {
    for (const signal of [forced, loss]) signal.tell(closedConnection(true))
  })
  return {
    transaction: (options, body) => transact(db, { forced, isDeliberate: () => isDeliberate }, options, body),
    close,
    onLost: (listener) => loss.on(listener),
  }
}
