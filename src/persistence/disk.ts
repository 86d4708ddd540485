import type { Clock } from '../base/environment.ts'
import { StorageError, type SyncError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import { Checkpointer } from './checkpointer.ts'
import type { Database, JournalEntry } from './database.ts'
import { noDatabase } from './none.ts'
import { Opener } from './opener.ts'
import { OutboxDisk } from './outbox-disk.ts'
import { isHopeless, Recorder } from './recorder.ts'
import type { StorageStatus } from './storage-status.ts'

/**
 * Where a snapshot did not fit, another may after this long, in ms; each one after it waits four times longer, even if it
 * fits: what is written next may take its room again.
 */
const roomMs = 3_600_000

export interface DiskOptions {
  /** `beside`: another client has the data, and keeps it. */
  readonly openDatabase: (beside: boolean) => Promise<Database>
  readonly clock: Clock
  readonly listener: DiskListener
}

export interface DiskListener {
  /** The database is open, and nothing of it is here yet. Resolves once what is to be read is; never rejects. */
  opened(): Promise<void>
  /** Another one is open in its place, which may be empty. */
  reopened(): void
  /** The disk may take the transactions that it did not take before. */
  storeAgain(): void
  /** What is stored is not what was: only a snapshot helps. */
  lost(): void
  /** How storing goes may be another. */
  storage(status: StorageStatus, failure?: SyncError): void
}

/**
 * What became of a snapshot: it is `stored`, in `memory` alone, or to be fetched `again`, since the database was opened
 * again under it.
 */
export type Replaced = 'stored' | 'memory' | 'again'

/** One identity's database, and whether what is taken comes to be durable there. */
export class Disk {
  /** Where its transactions are stored, whatever becomes of the data. */
  readonly outbox: OutboxDisk
  readonly #listener: DiskListener
  readonly #opener: Opener
  readonly #checkpointer: Checkpointer
  readonly #again: Timer
  #againMs = roomMs
  readonly #recorder = new Recorder(noDatabase, (failure) => this.#heard(failure))
  /** Why the data was given up since its replacement began, if it was. */
  #given: SyncError | undefined
  /** Whether the database was opened again under the last snapshot. */
  #isLost = false
  #opening: Promise<void> | undefined
  #isSealed = false
  #isOthers = false

  constructor({ openDatabase, clock, listener }: DiskOptions) {
    this.#listener = listener
    const tell = () => this.#tell()
    this.#opener = new Opener({
      openDatabase,
      isOthers: () => this.isOthers,
      clock,
      listener: {
        failed: tell,
        // What waits in memory is not safe until it is stored in another one.
        lost: (database, failure) => void this.#opener.openAfter(database, failure).then(tell),
        reopened: (database, old) => {
          this.#checkpointer.abort()
          // Only the outbox is stored there.
          if (this.isOthers) {
            tell()
            return listener.reopened()
          }
          const isFirst = old === noDatabase
          // What is there is not what is here.
          if (isFirst) this.#recorder.suspend()
          this.#recorder.use(database)
          tell()
          listener.reopened()
          if (isFirst && !this.#isSealed) this.#opening = listener.opened()
          if (this.#recorder.suspended) listener.lost()
        },
      },
    })
    this.#checkpointer = new Checkpointer({
      clock,
      database: () => this.database,
      onEnd: tell,
    })
    this.outbox = new OutboxDisk({
      clock,
      onAgain: () => listener.storeAgain(),
      database: () => this.database,
      openAfter: (database, failure) => this.#opener.openAfter(database, failure),
      onDrop: (failure) => {
        this.#checkpointer.abort()
        this.#recorder.suspend(failure)
        this.#given = failure
      },
      onChange: tell,
    })
    this.#again = new Timer(clock, () => {
      const { failure, suspended } = this.#recorder
      if (!failure || isHopeless(failure)) return
      if (suspended) this.#againMs *= 4
      this.#again.set(this.#againMs)
      if (suspended) listener.lost()
    })
  }

  get database(): Database {
    return this.#opener.database
  }

  /** Whether another client has taken over the data: this one stores its transactions alone. */
  get isOthers(): boolean {
    return this.#isOthers
  }

  /** Why what is taken is not stored, if it is not. */
  get failure(): SyncError | undefined {
    return this.#recorder.failure
  }

  /**
   * Resolves once the database is open and what it holds is read. Never rejects: where it does not open, all is in memory
   * alone. What is recorded is not stored until `resume`: it would follow from nothing.
   */
  open(): Promise<void> {
    this.#opening ??= this.#isSealed ? Promise.resolve() : this.#open()
    return this.#opening
  }

  get isSealed(): boolean {
    return this.#isSealed
  }

  /** Opens nothing any more. Resolves once what is being opened is here. */
  async seal(): Promise<void> {
    this.#isSealed = true
    this.outbox.close()
    await this.#opening
  }

  /** Stores a proven delta, after those before it; see `Recorder.record` for `later`. */
  record(entry: JournalEntry, later?: boolean): void {
    // Opening it again may have been given up before.
    void this.#opener.openAfter(this.database, this.failure)
    this.#recorder.record(entry, later)
    this.#checkpointer.soon()
  }

  /** What is stored is what is here: what comes now follows from it. */
  resume(): void {
    this.#recorder.resume()
  }

  /** Stores nothing of what follows until the next snapshot. With `failure`, that is not to be expected soon, and is told. */
  suspend(failure?: SyncError): void {
    this.#recorder.suspend(failure)
  }

  /** What it was to hold cannot be had from it. */
  lose(failure: SyncError): void {
    this.#recorder.suspend(failure)
    this.#listener.lost()
  }

  /** Runs `store`, which puts other data in place of what `database` holds, and gives why it could not. */
  async replace(database: Database, store: () => Promise<SyncError | undefined>): Promise<Replaced> {
    this.#checkpointer.abort()
    this.#recorder.suspend()
    this.#given = undefined
    await this.#recorder.settled()
    const failure = (await store()) ?? this.#given
    const wasLost = this.#isLost
    this.#isLost = await this.#opener.openAfter(database, failure)
    if (this.#isLost && !wasLost) return 'again'
    const reason = this.#isLost ? closedAgain() : failure
    if (reason) {
      this.#recorder.suspend(reason)
      return 'memory'
    }
    this.#recorder.resume()
    this.#tell()
    return 'stored'
  }

  /** Resolves once all that was recorded is durable; rejects with a StorageError where it cannot be made so. */
  async stored(): Promise<void> {
    await this.settled()
    const { failure, suspended } = this.#recorder
    if (failure) throw failure
    if (suspended) throw new StorageError('aborted', 'Nothing is stored before the next snapshot.')
  }

  /** Resolves once all that was recorded is durable, or cannot be made so, in a database that is opened again too. */
  async settled(): Promise<void> {
    await this.#recorder.settled()
    if (await this.#opener.reopening) await this.#recorder.settled()
  }

  /** To be called once it is sealed. */
  async close(): Promise<void> {
    this.#checkpointer.abort()
    await this.#recorder.settled()
    await this.#opener.close()
    // One that was opened again meanwhile was given what was not stored.
    await this.#recorder.settled()
    this.#again.clear()
  }

  async #open(): Promise<void> {
    if (!(await this.#opener.open())) return
    this.#recorder.suspend()
    this.#recorder.use(this.database)
    this.#tell()
    await this.#listener.opened()
  }

  /** Recording fails with `failure`, or does not. */
  #heard(failure: SyncError | undefined): void {
    if (failure?.code === 'fenced') this.#isOthers = true
    this.#tell()
    if (failure) this.#again.within(this.#againMs)
    else this.#again.clear()
    if (failure?.code === 'broken_link') this.#listener.lost()
    else void this.#opener.openAfter(this.database, failure)
  }

  /** Storing fails where one of its parts does: it is told why the first of them does. */
  #tell(): void {
    const failure = this.#opener.failure ?? this.failure ?? this.#checkpointer.failure ?? this.outbox.refused
    const { kind } = this.database
    this.#listener.storage(failure ? { kind, reason: failure.message } : { kind }, failure)
  }
}

/** An engine that does so under each snapshot is not to keep the data from being shown. */
function closedAgain(): StorageError {
  const message = 'The local database was closed during two snapshots in a row. Reload to store the data.'
  return new StorageError('closed', message)
}
