import type { Clock } from '../base/environment.ts'
import { StorageError, type SyncError, toStorageError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import { Checkpointer } from './checkpointer.ts'
import type { Database, JournalEntry } from './database.ts'
import { noDatabase } from './none.ts'
import { Opener } from './opener.ts'
import type { OutboxEnd } from './outbox.ts'
import { OutboxDisk } from './outbox-disk.ts'
import { isHopeless, Recorder } from './recorder.ts'
import type { SignedOut, SignOut } from './sign-out.ts'
import type { StorageStatus } from './storage-status.ts'

/**
 * The delay before the next snapshot after one for which the disk had no room, in ms. Each later delay is four times
 * longer, even after a snapshot that was stored: the next write may take its room again.
 */
const roomMs = 3_600_000

/** The delay before changes that could not be stored are written again, in ms. */
const againMs = 60_000

export interface DiskOptions {
  /**
   * Opens the database. `leads`: whether this client stores the data. If not, it writes the outbox only. `life`: the life
   * that the database must be in, if that is known.
   */
  readonly openDatabase: (leads: boolean, life: string | undefined) => Promise<Database>
  readonly clock: Clock
  readonly listener: DiskListener
}

export interface DiskListener {
  /** The database is about to be opened for the first time. Resolves once it is decided whether this client leads. */
  opening(): Promise<void>
  /** The database is open, and its data is not in memory yet. Resolves once that data is read; never rejects. */
  opened(): Promise<void>
  /**
   * Another database, which may be empty, is open instead of the previous one. `isNew`: the browser has deleted the
   * previous one.
   */
  reopened(isNew: boolean): void
  /** This client stores the data from now on. Resolves once memory and disk are compared; never rejects. */
  leads(): Promise<void>
  /** Another client stores the data now. */
  fenced(): void
  /** The stored data contains these transactions, and their ends are stored. */
  ended(ends: readonly OutboxEnd[]): void
  /** The user has signed out, in another client: see `Database.signOut`. May be called more than once. */
  signedOut(): void
  /** A client that does not lead has no room for a transaction. Resolves once the leader has made room, if it does. */
  roomNeeded(): Promise<void>
  /** Transactions that the disk refused may fit now: write them again. */
  storeAgain(): void
  /** The stored data is missing or cannot be continued: only a snapshot helps. */
  lost(): void
  /** The storage status may have changed. */
  storage(failure: SyncError | undefined): void
}

/**
 * The outcome of a snapshot: `stored` on disk; in `memory` only; or to be fetched `again`, because the database was
 * closed and opened again during the snapshot.
 */
export type Replaced = 'stored' | 'memory' | 'again'

/** The database of one identity, and whether new data becomes durable in it. */
export class Disk {
  /** Stores the transactions, even while the data cannot be stored. */
  readonly outbox: OutboxDisk
  readonly #listener: DiskListener
  readonly #opener: Opener
  readonly #checkpointer: Checkpointer
  readonly #retry: Timer
  readonly #again: Timer
  #retryMs = roomMs
  readonly #recorder: Recorder
  /** Why the data was dropped during the current `replace`, if it was. */
  #dropFailure: SyncError | undefined
  /** Whether the database was closed and opened again during the last snapshot. */
  #isLost = false
  #opening: Promise<void> | undefined
  #isSealed = false
  #leads = true
  /** Whether this client opened the database as the leader. */
  #isLeaders = false
  #leading: Promise<void> | undefined
  #life: string | undefined
  /** Whether the open database has another life than the one before. */
  #isNew = false

  constructor({ openDatabase, clock, listener }: DiskOptions) {
    this.#listener = listener
    const report = () => this.#report()
    this.#recorder = new Recorder(noDatabase, {
      changed: (failure) => this.#onRecorderChange(failure),
      ended: (ends) => listener.ended(ends),
    })
    this.#opener = new Opener({
      openDatabase: (isSame) => this.#openAs(openDatabase, this.#leads, isSame),
      clock,
      listener: {
        failed: report,
        // Open the database again at once. It may be another, empty one: what is in memory is safe only when stored in
        // it.
        lost: (database, failure) => void this.#opener.openAfter(database, failure).then(report),
        reopened: (database, old, isSame) => {
          this.#checkpointer.abort()
          const isFirst = old === noDatabase
          // Memory and disk have diverged: do not append to the stored data.
          if (isFirst) this.#recorder.suspend()
          this.#recorder.use(database)
          report()
          // This client now leads, and has opened the same database again as the leader.
          if (isSame && !isFirst) return
          listener.reopened(this.#isNew)
          if (isFirst && !this.#isSealed) this.#opening = listener.opened()
          if (this.#leads && this.#recorder.suspended) listener.lost()
        },
      },
    })
    this.#checkpointer = new Checkpointer({
      clock,
      database: () => this.database,
      onEnd: report,
    })
    this.outbox = new OutboxDisk({
      clock,
      onAgain: () => listener.storeAgain(),
      database: () => this.database,
      openAfter: (database, failure) => this.#opener.openAfter(database, failure),
      makeRoom: (failure) => (this.#leads ? this.makeRoom(failure) : listener.roomNeeded()),
      onChange: report,
    })
    this.#retry = new Timer(clock, () => {
      const { failure, suspended } = this.#recorder
      if (!failure || isHopeless(failure)) return
      if (suspended) this.#retryMs *= 4
      this.#retry.set(this.#retryMs)
      if (suspended) listener.lost()
    })
    this.#again = new Timer(clock, () => {
      const { failure, suspended } = this.#recorder
      if (!failure || suspended) return
      this.#again.set(againMs)
      void this.#recorder.settled()
    })
  }

  get database(): Database {
    return this.#opener.database
  }

  /** Whether this client is the leader, which stores the data. Any other client stores its transactions only. */
  get leads(): boolean {
    return this.#leads
  }

  /** The number of this client as the leader: see `Database.term`. `undefined` if it does not lead, or not yet. */
  get term(): number | undefined {
    return this.#isLeaders ? this.database.term : undefined
  }

  /** Stores the data from now on, and locks out the previous leader. */
  lead(): void {
    if (this.#leads) return
    this.#leads = true
    this.#leading ??= this.#lead()
  }

  /** Leaves storing the data to another client. */
  follow(): void {
    this.#leads = false
    this.#isLeaders = false
    this.#checkpointer.abort()
    this.#clearRetries()
    this.#recorder.rest()
    this.#report()
  }

  /** As `open`, but if this client is just becoming the leader, resolves once it is. */
  async ready(): Promise<void> {
    await this.open()
    await this.#leading
  }

  /** Where transactions and data are kept at present, and the reason if that is not as requested. */
  get status(): StorageStatus {
    const worst = this.#worst
    // `fenced` is no failure: this client stops leading, and follows.
    const failure = worst?.code === 'fenced' ? undefined : worst
    // Another tab has deleted the database: nothing is stored until the page is loaded again.
    const isGone = failure?.code === 'closed' && !failure.retryable
    const kind = isGone || this.#refused ? 'memory' : this.database.kind
    return failure ? { kind, reason: failure.message } : { kind }
  }

  /** Why new data is not stored; `undefined` if it is. */
  get failure(): SyncError | undefined {
    return this.#recorder.failure
  }

  /**
   * Resolves once the database is open and its data is read. Never rejects: if the database does not open, all data is
   * in memory only. Deltas are not stored until `resume`, because they would not continue the stored data.
   */
  open(): Promise<void> {
    this.#opening ??= this.#isSealed ? Promise.resolve() : this.#open()
    return this.#opening
  }

  get isOpen(): boolean {
    return this.database !== noDatabase
  }

  /** The life of the open database: see `Database.signOut`. */
  get life(): string | undefined {
    return this.#life
  }

  get isSealed(): boolean {
    return this.#isSealed
  }

  /** Never opens a database again. Resolves once a running `open` has ended. */
  async seal(): Promise<void> {
    this.#isSealed = true
    this.outbox.close()
    await this.ready()
  }

  /** Stores a confirmed delta, after all earlier ones. For `later`, see `Recorder.record`. */
  record(entry: JournalEntry, later?: boolean): void {
    // A previous attempt to open the database again may have given up.
    void this.#opener.openAfter(this.database, this.failure)
    this.#recorder.record(entry, later)
    if (this.#leads) this.#checkpointer.soon()
  }

  /** Memory and disk are equal: store the deltas that follow. */
  resume(): void {
    if (this.#leads && this.#isLeaders) this.#recorder.resume()
  }

  /**
   * Stores nothing until the next snapshot. If that snapshot may take long, pass `failure` to show it in the storage
   * status.
   */
  suspend(failure?: SyncError): void {
    this.#recorder.suspend(failure)
  }

  /** Memory does not continue the stored data: store nothing until the next snapshot, and ask for one. */
  lose(failure?: SyncError): void {
    this.#recorder.suspend(failure)
    this.#listener.lost()
  }

  /** Drops the data because of `failure`, to make room for transactions. Never rejects. */
  async makeRoom(failure: SyncError): Promise<void> {
    this.#checkpointer.abort()
    this.#recorder.suspend(failure)
    this.#dropFailure = failure
    await this.database.drop().catch(() => {})
  }

  /** Runs `store`, which replaces the data in `database` and resolves with its error, if it fails. */
  async replace(database: Database, store: () => Promise<SyncError | undefined>): Promise<Replaced> {
    this.#checkpointer.abort()
    this.#recorder.suspend()
    this.#dropFailure = undefined
    await this.#recorder.settled()
    const failure = (await store()) ?? this.#dropFailure
    const wasLost = this.#isLost
    this.#isLost = await this.#opener.openAfter(database, failure)
    if (this.#isLost && !wasLost) return 'again'
    const reason = this.#isLost ? closedAgain() : failure
    if (reason) {
      this.#recorder.suspend(reason)
      return 'memory'
    }
    this.#recorder.resume()
    this.#report()
    return 'stored'
  }

  /**
   * Resolves once everything recorded so far is durable, or if another client stores the data. Rejects with a
   * StorageError if the data cannot become durable.
   */
  async stored(): Promise<void> {
    await this.#leading
    await this.settled()
    if (!this.#leads) return
    const { failure, suspended } = this.#recorder
    if (failure) throw failure
    if (suspended) throw outOfDate()
  }

  /**
   * Resolves once everything recorded so far is durable or has failed, also in a database that is just being opened
   * again.
   */
  async settled(): Promise<void> {
    await this.#recorder.settled()
    if (await this.#opener.reopening) await this.#recorder.settled()
  }

  /** See `Database.signOut`. */
  async signOut(options: SignOut): Promise<SignedOut> {
    await this.ready()
    const { failure } = this.#opener
    // Where nothing can be stored, there is nothing to erase.
    if (failure && failure.code !== 'no_storage') throw failure
    const { database } = this
    try {
      return await database.signOut(options)
    } catch (error) {
      const isOpen = await this.#opener.openAfter(database, toStorageError(error))
      if (!isOpen) throw error
      return this.database.signOut(options)
    }
  }

  /** Closes the database. Call `seal` first. */
  async close(): Promise<void> {
    this.#checkpointer.abort()
    await this.#recorder.settled()
    await this.#opener.close()
    // A database that was opened meanwhile may still be storing records that failed before.
    await this.#recorder.settled()
    this.#clearRetries()
  }

  async #open(): Promise<void> {
    await this.#listener.opening()
    if (!(await this.#opener.open())) return
    this.#recorder.suspend()
    this.#recorder.use(this.database)
    this.#report()
    await this.#listener.opened()
  }

  async #openAs(
    openDatabase: DiskOptions['openDatabase'],
    leads: boolean,
    isSame: boolean,
  ): Promise<Database> {
    const database = await openDatabase(leads, isSame ? this.#life : undefined)
    const { life } = database
    this.#isNew = this.#life !== undefined && life !== this.#life
    this.#life = life
    this.#isLeaders = leads
    return database
  }

  async #lead(): Promise<void> {
    const isToOpen = () => this.#leads && !this.#isLeaders && !this.#isSealed
    try {
      await this.open()
      do {
        while (isToOpen()) if (!(await this.#opener.openAgain(true))) return
        await this.#opening
        if (this.#leads && !this.#isSealed) await this.#listener.leads()
        // This client may have followed for a moment, and lead again.
      } while (isToOpen())
    } finally {
      this.#leading = undefined
    }
  }

  /** Recording has begun to fail with `failure`, or works again. */
  #onRecorderChange(failure: SyncError | undefined): void {
    this.#report()
    if (!this.#leads) return
    if (failure) {
      this.#retry.within(this.#retryMs)
      this.#again.within(againMs)
    } else this.#clearRetries()
    if (failure?.code === 'broken_link') this.#listener.lost()
    else void this.#opener.openAfter(this.database, failure)
  }

  #clearRetries(): void {
    this.#retry.clear()
    this.#again.clear()
  }

  /** The first failure among opening, recording, checkpoints and the outbox. */
  get #worst(): SyncError | undefined {
    return this.#opener.failure ?? this.failure ?? this.#checkpointer.failure ?? this.#refused
  }

  /** Why the next transaction may not be stored. */
  get #refused(): SyncError | undefined {
    return this.outbox.refused ?? this.database.refused
  }

  #report(): void {
    const failure = this.#worst
    if (failure?.code === 'fenced') this.#listener.fenced()
    else if (failure?.code === 'signed_out') this.#listener.signedOut()
    else this.#listener.storage(failure)
  }
}

function outOfDate(): StorageError {
  const message = 'The data on the disk is out of date: nothing is stored until the next snapshot.'
  return new StorageError('aborted', message)
}

/** A browser that closes the database during every snapshot must not keep the data from being shown. */
function closedAgain(): StorageError {
  const message = 'The local database was closed during two snapshots in a row; reload.'
  return new StorageError('closed', message)
}
