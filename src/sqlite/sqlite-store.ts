import { createHash } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Check, check, checkOptions } from '../base/check-options.ts'
import type { Store } from '../storage/store.ts'
import { ClientsFile } from './clients-file.ts'
import { openFailure } from './failures.ts'
import { SqliteFile } from './file.ts'
import { fileChannel } from './file-channel.ts'
import { fileLocks } from './file-locks.ts'
import { SqliteHandle } from './handle.ts'
import type { SqliteDatabase } from './sqlite.ts'

export interface SqliteStoreOptions {
  /**
   * The folder of the files, on a disk of this machine: SQLite cannot lock files on most network file systems. There are
   * two for each database: the data, and what its clients share. Created if it does not exist, readable by its owner
   * only. A file's name is a hash and reveals nothing. In Electron, use a folder of `app.getPath('userData')`.
   */
  readonly folder: string
  /** Opens the SQLite database at `path`, and creates it if it does not exist: `(path) => new DatabaseSync(path)`. */
  readonly open: (path: string) => SqliteDatabase
}

const aFolder: Check = [(value) => typeof value === 'string' && value !== '', 'a path']
const aFunction: Check = [(value) => typeof value === 'function', 'a function that opens a database']

/** The suffix of the name of a {@link ClientsFile}, after the path of the data file. */
const clients = '-clients'

/** The open files of this process by path, shared by all stores. */
const files = new Map<string, SqliteFile>()

/**
 * Returns a store that keeps its data in SQLite, for Node and Electron's main process. The application chooses the
 * SQLite library. Its calls block the thread, and wait up to 2 s for another process. Processes with one folder are like
 * tabs: until `close`, a client looks four times a second at what the others have to say, which keeps the process
 * running.
 *
 * The store's promises reject with a StorageError. On a full disk, a write fails, since SQLite cannot make room for it. A
 * damaged file is not deleted, since it may hold unsent writes: the client works in memory, and `status.storage.reason`
 * says which file to move away. `destroy` deletes the files, and other processes then work in memory.
 *
 * @throws ConfigurationError if an option is missing or wrong
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  checkOptions(options, { folder: aFolder, open: aFunction })
  const { open } = options
  check('folder', options.folder, aFolder)
  check('open', open, aFunction)
  const folder = resolve(options.folder)
  const pathOf = (name: string) => join(folder, `${createHash('sha256').update(name).digest('hex')}.sqlite`)
  const makeFolder = () => mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    kind: 'durable',
    shared(name, environment) {
      const file = new ClientsFile(environment.clock, () => {
        makeFolder()
        return open(pathOf(name) + clients)
      })
      return { locks: fileLocks(file, environment), BroadcastChannel: fileChannel(file, environment) }
    },
    async open(name) {
      const path = pathOf(name)
      try {
        makeFolder()
        return await fileAt(path).connect(() => new SqliteHandle(open(path)))
      } catch (error) {
        throw openFailure(error, path)
      }
    },
    async destroy(name) {
      const path = pathOf(name)
      try {
        await fileAt(path).destroy(() => {
          for (const ending of ['', '-wal', '-shm']) {
            for (const file of [path, path + clients]) rmSync(file + ending, { force: true })
          }
        })
      } catch (error) {
        throw openFailure(error, path)
      }
    },
  }
}

function fileAt(path: string): SqliteFile {
  const file = files.get(path) ?? new SqliteFile(path)
  files.set(path, file)
  return file
}
