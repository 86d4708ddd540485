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
 * Deletes a database, with all that is unsent. To remove the data of the user who is signed in, call `logout` instead.
 * Tabs that have the database open go on in memory until they are loaded again, and send what is written there. Rejects
 * with a StorageError; of code `blocked` if a tab, such as a frozen one, does not release the database within 10 s. The
 * database is then deleted as soon as the tab releases it.
 */
export function deleteDatabase(name: string, options: IndexedDbOptions = {}): Promise<void> {
  return indexedDbStore(options).destroy(name)
}
