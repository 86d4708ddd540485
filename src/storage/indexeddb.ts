import { resolveEnvironment } from '../base/environment.default.ts'
import { StorageError } from '../base/errors.ts'
import { ConnectionLost } from './connection-lost.ts'
import { unlessBlocked } from './deadline.ts'
import { closedConnection, openFailure } from './indexeddb-failures.ts'
import { resultOf } from './indexeddb-request.ts'
import { transact } from './indexeddb-transaction.ts'
import { type Store, type StoreConnection, tables } from './store.ts'

/** Raised when the tables become others. What they hold has a format of its own. */
const version = 1

export interface IndexedDbOptions {
  /** @default the global one, looked up at each opening */
  readonly indexedDB?: IDBFactory | undefined
}

/** Keeps everything in the browser's IndexedDB: a database for each name, with an object store for each table. */
export function indexedDbStore(options: IndexedDbOptions = {}): Store {
  const factory = () => {
    const found = options.indexedDB ?? globalThis.indexedDB
    if (found) return found
    throw new StorageError('unavailable', 'There is no IndexedDB here: it is blocked, or this is no browser.')
  }
  return {
    kind: 'durable',
    async open(name) {
      try {
        return connect(await openDatabase(factory(), name))
      } catch (error) {
        throw openFailure(error)
      }
    },
    async destroy(name) {
      try {
        // Applications call it themselves, with no client's time limits around it.
        await unlessBlocked(resolveEnvironment().clock, resultOf(factory().deleteDatabase(name)))
      } catch (error) {
        throw openFailure(error)
      }
    },
  }
}

async function openDatabase(factory: IDBFactory, name: string): Promise<IDBDatabase> {
  const request = factory.open(name, version)
  request.onupgradeneeded = () => {
    for (const table of tables) request.result.createObjectStore(table)
  }
  await resultOf(request)
  const db = request.result
  const missing = tables.find((table) => !db.objectStoreNames.contains(table))
  if (missing === undefined) return db
  db.close()
  throw new StorageError(
    'unavailable',
    `The IndexedDB database has no table ${missing}, so something else made it: use another name.`,
  )
}

function connect(db: IDBDatabase): StoreConnection {
  const loss = new ConnectionLost()
  const forced = new ConnectionLost()
  let isMeant = false
  const close = () => {
    isMeant = true
    db.close()
  }
  // Somebody deletes it or opens a newer version, and would wait for us. What is under way still ends.
  db.addEventListener('versionchange', () => {
    close()
    loss.tell(closedConnection(false))
  })
  db.addEventListener('close', () => {
    for (const one of [forced, loss]) one.tell(closedConnection(true))
  })
  return {
    transaction: (options, body) => transact(db, { forced, meant: () => isMeant }, options, body),
    close,
    onLost: (listener) => loss.on(listener),
  }
}
