import type { Clock } from '../base/environment.ts'
import { toStorageError } from '../base/errors.ts'
import type { MigrationPlan } from '../models/migrate.ts'
import type { HistoryPosition } from '../protocol/bootstrap.ts'
import { checkpoint } from './checkpoint.ts'
import type { Connection } from './connection.ts'
import { sizeOf } from './format.ts'
import { type Generations, generationsOf } from './generations.ts'
import { type JournalWriter, journalOf, readPosition, readSince } from './journal.ts'
import { readCaller } from './meta.ts'
import { type MigratingSink, migratingSink } from './migrate.ts'
import { pagesOf } from './pages.ts'
import { readStored } from './restore.ts'
import { beginSnapshot } from './snapshot.ts'
import type {
  DataSize,
  JournalEntry,
  Restored,
  RestoreSink,
  SnapshotWriter,
  StoredChanges,
  StoredPosition,
} from './stored-data.ts'

const nothing: DataSize = { pageUnits: 0, journalUnits: 0 }

/** A delta with more ops than this is written in a later turn, because applying it in memory has taken this turn. */
const turnOps = 1_000

/**
 * The data on the disk: the last checkpoint as pages of JSON text, and a journal of the deltas since. Both hold confirmed
 * data only. Rows and position become durable together or not at all. Only the leader writes. Without a database,
 * nothing is read or stored, and nothing fails.
 */
export class Data {
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #models: MigrationPlan
  readonly #generations: Generations
  readonly #journal: JournalWriter
  #size = nothing
  #isCheckpointing = false

  /** `models`: the version of the application's models and their migrations. */
  constructor(connection: Connection, clock: Clock, models: MigrationPlan) {
    this.#connection = connection
    this.#clock = clock
    this.#models = models
    this.#generations = generationsOf(connection)
    this.#journal = journalOf(connection)
  }

  /** The size of the stored data, which decides when a checkpoint is due. */
  get size(): DataSize {
    return this.#size
  }

  /**
   * Reads pages and journal from one consistent state. The pages reach `sink` in order, then the ops of the journal.
   * Resolves with the stored position, or with `undefined` if nothing was ever stored. The journal ends before the first
   * record that cannot be read or does not continue the record before it; the leader deletes that record and all later
   * ones. Rejects with a StorageError of code `unreadable` if a page cannot be read: only a snapshot helps then.
   */
  async restore(sink: RestoreSink): Promise<Restored | undefined> {
    if (!this.#connection.isOpen) return undefined
    const { leads } = this.#connection
    const { version } = this.#models
    let migrating: MigratingSink | undefined
    const read = await readStored(this.#connection, (stored) => {
      migrating = undefined
      if (stored === version) return sink
      // Data of a newer version of the application cannot be read: restore nothing.
      if (stored < version) migrating = migratingSink(this.#models, stored)
      return migrating
    })
    if (!read) return undefined
    const { restored, brokenAt: from } = read
    if (leads && from !== undefined)
      await this.#connection.write(['journal'], (tx) => tx.delete('journal', { from }))
    this.#size = read.size
    return migrating ? this.#rewrite(migrating, restored, sink) : restored
  }

  /**
   * Reads the stored data again, as `restore` does, for the types that `restore` left out. Changes nothing. The result
   * may be newer than the restored data. Resolves with `undefined` also if a version of the application with other
   * models has stored the data meanwhile.
   */
  async read(sink: RestoreSink): Promise<Restored | undefined> {
    if (!this.#connection.isOpen) return undefined
    const { version } = this.#models
    return (await readStored(this.#connection, (stored) => (stored === version ? sink : undefined)))?.restored
  }

  /**
   * Resolves with the position at the end of the stored data; with `undefined` if there is no data that a client of
   * these models can continue.
   */
  async position(): Promise<StoredPosition | undefined> {
    if (!this.#connection.isOpen) return undefined
    return this.#connection.read(['journal'], (tx) => readPosition(tx, this.#models.version))
  }

  /**
   * Resolves with the changes that the journal has after `position`. Resolves with `undefined` if the journal begins
   * later, or if the stored data is of another history, or of another snapshot than `copy`: then read all data. Rejects
   * with a StorageError.
   */
  async since(position: HistoryPosition, copy: string | undefined): Promise<StoredChanges | undefined> {
    if (!this.#connection.isOpen) return undefined
    return this.#connection.read(['journal'], (tx) => readSince(tx, this.#models.version, position, copy))
  }

  /**
   * The user who owns the data, as the service names the user; `undefined` if no user was ever stored. Like the outbox,
   * the name is kept when the data is dropped.
   */
  async readCaller(): Promise<string | undefined> {
    return this.#connection.isOpen ? this.#connection.read([], readCaller) : undefined
  }

  /** See `Connection.storeCaller`. */
  async storeCaller(): Promise<void> {
    if (this.#connection.isOpen) await this.#connection.storeCaller()
  }

  /** Begins a new generation of pages. The current generation stays complete until `commit`. */
  async snapshot(): Promise<SnapshotWriter> {
    if (!this.#connection.isOpen) return nowhere
    await this.#connection.raise()
    // Remove the pages of a process that was killed.
    await this.#generations.sweep()
    return beginSnapshot(this.#connection, this.#generations, {
      clock: this.#clock,
      version: this.#models.version,
      onCommit: (manifest) => {
        this.#size = { pageUnits: sizeOf(manifest), journalUnits: 0 }
      },
    })
  }

  /**
   * Makes one delta durable. Rejects with a StorageError of code `broken_link` if the stored position is not
   * `entry.since`, so that a failed write never leaves a hole.
   */
  async append(entry: JournalEntry): Promise<void> {
    if (!this.#connection.isOpen) return
    if (entry.ops.length > turnOps) await this.#clock.pause()
    const units = await this.#journal.append(entry, this.#clock.now())
    this.#size = { ...this.#size, journalUnits: this.#size.journalUnits + units }
  }

  /**
   * Folds the journal into the pages that it changes, one page at a time, and removes the folded records in one
   * transaction. Appends may happen in between. Resolves with whether there was anything to fold. If `signal` aborts,
   * gives up before the next page.
   */
  async checkpoint(signal?: AbortSignal): Promise<boolean> {
    if (this.#isCheckpointing) return false
    this.#isCheckpointing = true
    try {
      const [database, generations, clock] = [this.#connection, this.#generations, this.#clock]
      await database.raise()
      const done = await checkpoint({ database, generations, clock, signal })
      if (done) {
        const journalUnits = Math.max(0, this.#size.journalUnits - done.journalUnits)
        this.#size = { pageUnits: done.pageUnits, journalUnits }
      }
      return done !== undefined
    } finally {
      this.#isCheckpointing = false
    }
  }

  /** Removes pages and journal to make room. The next restart begins without data. */
  async drop(): Promise<void> {
    this.#generations.forget()
    await this.#connection.drop()
    this.#size = nothing
  }

  /**
   * Stores the migrated data, because every later delta is written for the current models. If storing fails, `sink` has
   * received the data all the same, and the result has a `failure`.
   */
  async #rewrite(migrating: MigratingSink, read: Restored, sink: RestoreSink): Promise<Restored> {
    const rows = migrating.migrated()
    const { owed, at } = read.repair
    const restored = { ...read, repair: { owed: owed || migrating.owesRepair, at } }
    sink.rows(rows)
    if (!this.#connection.leads) return restored
    let writer: SnapshotWriter | undefined
    try {
      writer = await this.snapshot()
      for (const page of pagesOf(rows)) await writer.page(page)
      await writer.commit(restored, restored.repair)
      return restored
    } catch (error) {
      await writer?.abort().catch(() => {})
      return { ...restored, failure: toStorageError(error) }
    }
  }
}

/** Where nothing is stored. */
const nowhere: SnapshotWriter = {
  page: async () => {},
  commit: async () => '',
  abort: async () => {},
}
