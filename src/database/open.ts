import type { Undo } from '../base/emitter.ts'
import { type StorageError, toStorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import type { Shape } from '../models/migrate.ts'
import type { WireRow } from '../protocol/row.ts'
import { isInWorkers, type Store } from '../storage/store.ts'
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
import { JournalWriter } from './journal.ts'
import { type MigratingSink, migratingSink } from './migrate.ts'
import type { OutboxStore } from './outbox.ts'
import { pagesOf } from './pages.ts'
import { readStored, restore } from './restore.ts'
import { StoredSnapshot } from './snapshot.ts'

export interface OpenDatabaseOptions {
  /** Its promises are to settle in bounded time: see `withTimeLimits`. */
  readonly store: Store
  /** Names the server and the identity whose data it is. */
  readonly name: string
  readonly clock: Clock
  /** The shape of the application's types. @default version 1, which nothing leads to */
  readonly models?: Shape | undefined
}

/** An entry of more ops than these is written in a turn of its own: to apply them has been one already. */
const turnOps = 1_000

/**
 * Opens the database `name`, made where there is none. Whoever has it open is refused from now on. Data of another
 * format is dropped, and restoring then finds nothing. Rejects with a StorageError.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<Database> {
  const { store, name, clock, models = { version: 1, migrate: {} } } = options
  const connection = await store.open(name)
  const shared = isInWorkers(store) ? name : undefined
  try {
    return new StoredDatabase(store.kind, await FencedConnection.raise(connection), clock, models, shared)
  } catch (error) {
    connection.close()
    throw error
  }
}

class StoredDatabase implements Database {
  readonly kind: Store['kind']
  readonly #database: FencedConnection
  readonly #generations: Generations
  readonly #journal: JournalWriter
  readonly #clock: Clock
  readonly #models: Shape
  readonly #shared: string | undefined
  #size: DatabaseSize = { pageUnits: 0, journalUnits: 0 }
  #checkpointing = false

  /** By `shared` a worker opens the same database; `undefined` where none can. */
  constructor(kind: Store['kind'], database: FencedConnection, clock: Clock, models: Shape, shared?: string) {
    this.kind = kind
    this.#database = database
    this.#generations = new Generations(database)
    this.#journal = new JournalWriter(database)
    this.#clock = clock
    this.#models = models
    this.#shared = shared
  }

  get size(): DatabaseSize {
    return this.#size
  }

  get outbox(): OutboxStore {
    return this.#database.outbox
  }

  async drop(): Promise<void> {
    this.#generations.forget()
    await this.#database.drop()
    this.#size = { pageUnits: 0, journalUnits: 0 }
  }

  async restore(sink: RestoreSink): Promise<Restored | undefined> {
    const { version } = this.#models
    let migrating: MigratingSink | undefined
    const state = await restore(this.#database, (stored) => {
      if (stored === version) return sink
      // What a newer version of the application stored, this one cannot read.
      migrating = stored < version ? migratingSink(this.#models, stored) : undefined
      return migrating
    })
    if (!state) return undefined
    const { pageUnits, journalUnits, ...restored } = state
    this.#size = { pageUnits, journalUnits }
    return migrating ? this.#rewrite(migrating.migrated(), restored, sink) : restored
  }

  async read(sink: RestoreSink): Promise<Restored | undefined> {
    const { version } = this.#models
    return (await readStored(this.#database, (stored) => (stored === version ? sink : undefined)))?.state
  }

  /** What follows is of the new shape, so what it follows from has to be, too. Where that fails, what was read is given all the same. */
  async #rewrite(rows: readonly WireRow[], restored: Restored, sink: RestoreSink): Promise<Restored> {
    sink.rows(rows)
    let writer: SnapshotWriter | undefined
    try {
      writer = await this.snapshot()
      for (const page of pagesOf(rows)) await writer.page(page)
      await writer.commit(restored)
      return restored
    } catch (error) {
      await writer?.abort().catch(() => {})
      return { ...restored, failure: toStorageError(error) }
    }
  }

  async snapshot(): Promise<SnapshotWriter> {
    const onCommit = (manifest: Manifest) => {
      this.#size = { pageUnits: sizeOf(manifest), journalUnits: 0 }
    }
    const { version } = this.#models
    await this.#database.own()
    return new StoredSnapshot(this.#database, this.#generations, {
      clock: this.#clock,
      version,
      shared: this.#shared,
      onCommit,
    })
  }

  async append(entry: JournalEntry): Promise<void> {
    if (entry.ops.length > turnOps) await this.#clock.pause()
    const units = await this.#journal.append(entry, this.#clock.now())
    const { pageUnits, journalUnits } = this.#size
    this.#size = { pageUnits, journalUnits: journalUnits + units }
  }

  async checkpoint(signal?: AbortSignal): Promise<boolean> {
    if (this.#checkpointing) return false
    this.#checkpointing = true
    try {
      await this.#database.own()
      const [database, generations, clock] = [this.#database, this.#generations, this.#clock]
      const done = await checkpoint({ database, generations, clock, signal })
      if (done) {
        const journalUnits = Math.max(0, this.#size.journalUnits - done.journalUnits)
        this.#size = { pageUnits: done.pageUnits, journalUnits }
      }
      return done !== undefined
    } finally {
      this.#checkpointing = false
    }
  }

  close(): void {
    this.#database.close()
  }

  onLost(listener: (failure: StorageError) => void): Undo {
    return this.#database.onLost(listener)
  }
}
