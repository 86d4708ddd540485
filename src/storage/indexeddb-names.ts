import { resultOf } from './indexeddb-request.ts'

/** The prefix of the names of all databases that clients make. Other names are not listed. */
export const namePrefix = 'instep:'

/** The database that holds the names, and its object store. */
const [database, table] = ['instep', 'names']

/**
 * The names of the databases that stores have made in this origin. They are kept in a database of their own, because
 * `indexedDB.databases()` is missing in older browsers, such as Firefox before 126.
 */
export async function readNames(factory: IDBFactory): Promise<readonly string[]> {
  const names = await use(factory, 'readonly', (names) => names.getAllKeys())
  return names.map(String)
}

/** Never rejects: a database works without being listed. */
export async function addName(factory: IDBFactory, name: string): Promise<void> {
  await change(factory, name, (names) => names.put(true, name))
}

/** Never rejects. */
export async function removeName(factory: IDBFactory, name: string): Promise<void> {
  await change(factory, name, (names) => names.delete(name))
}

async function change<T>(
  factory: IDBFactory,
  name: string,
  work: (names: IDBObjectStore) => IDBRequest<T>,
): Promise<void> {
  if (name.startsWith(namePrefix)) await use(factory, 'readwrite', work).catch(() => {})
}

async function use<T>(
  factory: IDBFactory,
  mode: IDBTransactionMode,
  work: (names: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const request = factory.open(database, 1)
  request.onupgradeneeded = () => request.result.createObjectStore(table)
  const db = await resultOf(request)
  try {
    return await resultOf(work(db.transaction(table, mode).objectStore(table)))
  } finally {
    // The transaction still completes.
    db.close()
  }
}
