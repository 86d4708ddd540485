import { type IndexedDbOptions, indexedDbNames, indexedDbStore } from '../storage/indexeddb.ts'
import { namePrefix } from '../storage/indexeddb-names.ts'

/** The local data of one identity at one server. */
export interface LocalDatabase {
  /** The name of the database in IndexedDB. */
  readonly name: string
  readonly bootstrapUrl: string
  readonly identity: string
}

/** The name of the local database. It must not depend on the token. */
export function databaseName(bootstrapUrl: string, identity: string): string {
  return namePrefix + JSON.stringify([bootstrapUrl, identity])
}

/** The parts of the name of a local database; `undefined` if no client has made it. */
export function readDatabaseName(name: string): LocalDatabase | undefined {
  if (!name.startsWith(namePrefix)) return undefined
  const [bootstrapUrl, identity] = JSON.parse(name.slice(namePrefix.length))
  return { name, bootstrapUrl, identity }
}

/**
 * Lists the databases that clients with `indexedDbStore()` have made in this origin, of all servers and identities.
 * Rejects with a StorageError.
 */
export async function listDatabases(options: IndexedDbOptions = {}): Promise<readonly LocalDatabase[]> {
  const names = await indexedDbNames(options)
  return names.flatMap((name) => readDatabaseName(name) ?? [])
}

/**
 * Deletes a database, with all that is unsent. Tabs that have it open keep showing its data, but store nothing more. To
 * remove the data of the user who is signed in, call `logout` instead. Rejects with a StorageError; of code `blocked` if a tab does not release
 * the database within 10 s.
 */
export function deleteDatabase(name: string, options: IndexedDbOptions = {}): Promise<void> {
  return indexedDbStore(options).destroy(name)
}
