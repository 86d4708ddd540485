import type { Clock } from '../base/world.ts'
import type { Store } from '../storage/store.ts'
import { checkpoint } from './checkpoint.ts'
import type {
  Database,
  DatabaseSize,
  JournalEntry,
  Restored,
  RestoreSink,
  SnapshotWriter,
} from './database.ts'
import { FencedConnection } from './fence.ts'
import { type Manifest, sizeOf } from './format.ts'
import { Generations } from './generations.ts'
import { append } from './journal.ts'
import { restore } from './restore.ts'
import { StoredSnapshot } from './snapshot.ts'

export interface OpenDatabaseOptions {
  /** Its promises are to settle in bounded time: see `withTimeLimits`. */
  readonly store: Store
  /** Names the server and the identity whose data it is. */
  readonly name: string
  readonly clock: Clock
}

/**
 * Opens the database `name`, made where there is none. Whoever has it open is refused from now on. Data of another
 * format is dropped, and restoring then finds nothing. Rejects with a StorageError.
 */
export async function openDatabase({ store, name, clock }: OpenDatabaseOptions): Promise<Database> {
  const connection = await store.open(name)
  try {
    return new StoredDatabase(store.kind, await FencedConnection.raise(connection), clock)
  } catch (error) {
    connection.close()
    throw error
  }
}

class StoredDatabase implements Database {
  readonly kind: Store['kind']
  readonly #database: FencedConnection
  readonly #generations: Generations
  readonly #clock: Clock
  #size: DatabaseSize = { pageBytes: 0, journalBytes: 0 }
  #checkpointing = false

  constructor(kind: Store['kind'], database: FencedConnection, clock: Clock) {
    this.kind = kind
    this.#database = database
    this.#generations = new Generations(database)
    this.#clock = clock
  }

  get size(): DatabaseSize {
    return this.#size
  }

  async restore(sink: RestoreSink): Promise<Restored | undefined> {
    const state = await restore(this.#database, sink)
    if (!state) return undefined
    const { pageBytes, journalBytes, ...restored } = state
    this.#size = { pageBytes, journalBytes }
    return restored
  }

  async snapshot(): Promise<SnapshotWriter> {
    const onCommit = (manifest: Manifest) => {
      this.#size = { pageBytes: sizeOf(manifest), journalBytes: 0 }
    }
    return new StoredSnapshot(this.#database, this.#generations, this.#clock, onCommit)
  }

  async append(entry: JournalEntry): Promise<void> {
    const bytes = await append(this.#database, entry, this.#clock.now())
    const { pageBytes, journalBytes } = this.#size
    this.#size = { pageBytes, journalBytes: journalBytes + bytes }
  }

  async checkpoint(signal?: AbortSignal): Promise<boolean> {
    if (this.#checkpointing) return false
    this.#checkpointing = true
    try {
      const [database, generations, clock] = [this.#database, this.#generations, this.#clock]
      const done = await checkpoint({ database, generations, clock, signal })
      if (done) {
        const journalBytes = Math.max(0, this.#size.journalBytes - done.journalBytes)
        this.#size = { pageBytes: done.pageBytes, journalBytes }
      }
      return done !== undefined
    } finally {
      this.#checkpointing = false
    }
  }

  close(): void {
    this.#database.close()
  }
}
