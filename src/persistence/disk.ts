import type { Clock } from '../base/environment.ts'
import { isSyncError, StorageError, type SyncError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import type { MigrationPlan } from '../models/migrate.ts'
import { Checkpointer } from './checkpointer.ts'
import { Connection, type DatabaseOptions, type Found } from './connection.ts'
import { Data } from './data.ts'
import type { OutboxEnd } from './outbox.ts'
import { OutboxDisk } from './outbox-disk.ts'
import { isHopeless, Recorder } from './recorder.ts'
import { type SignedOut, type SignOut, signOut } from './sign-out.ts'
import type { StorageStatus } from './storage-status.ts'
import type { JournalEntry } from './stored-data.ts'

/**
 * The delay before the next snapshot after one for which the disk had no room, in ms. Each later delay is four times
 * longer, even after a snapshot that was stored: the next write may take its room again.
 */
const roomMs = 3_600_000

/** The delay before changes that could not be stored are written again, in ms. */
const againMs = 60_000

export interface DiskOptions extends DatabaseOptions {
  readonly clock: Clock
  /** The version of the application's models and their migrations. */
  readonly models: MigrationPlan
  readonly listener: DiskListener
}

export interface DiskListener {
  /** The database is about to be opened for the first time. Resolves once it is decided whether this client leads. */
  opening(): Promise<void>
  /** See `Connection`. */
  moved(): void
  /** See `Connection`. Resolves once memory and disk are compared; never rejects. */
  attached(found: Found): Promise<void>
  /** Another client stores the data now. */
  fenced(): void
  /** The stored data contains these transactions, and their ends are stored. */
  ended(ends: readonly OutboxEnd[]): void
  /** The user has signed out, in another client. May be called more than once. */
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
 * The outcome of a snapshot: `stored` on disk; in `memory` only; or to be fetched `again`, because this client has
 * attached again during the snapshot.
 */
export type Replaced = 'stored' | 'memory' | 'again'

/** The disk of one identity, and whether new data becomes durable on it. */
export class Disk {
  readonly data: Data
  /** Stores the transactions, even while the data cannot be stored. */
  readonly outbox: OutboxDisk
  /** Whether what is stored is to survive the end of the process. */
  readonly isDurable: boolean
  readonly #listener: DiskListener
  readonly #connection: Connection
  readonly #checkpointer: Checkpointer
  readonly #recorder: Recorder
  readonly #retry: Timer
  readonly #again: Timer
  #retryMs = roomMs
  /** Why the data was dropped during the current `replace`, if it was. */
  #dropFailure: SyncError | undefined
  /** Whether the pages of the last snapshot were lost. */
  #isDisturbed = false
  #opening: Promise<void> | undefined
  #isSealed = false

  constructor({ listener, models, ...options }: DiskOptions) {
    const { clock } = options
    const report = () => this.#report()
    this.#listener = listener
    this.isDurable = options.store?.kind === 'durable'
    this.#connection = new Connection({
      ...options,
      listener: {
        moved: () => listener.moved(),
        attached: (found) => this.#attached(found),
        changed: report,
      },
    })
    this.data = new Data(this.#connection, clock, models)
    this.#recorder = new Recorder((entry) => this.data.append(entry), {
      changed: (failure) => this.#onRecorderChange(failure),
      ended: (ends) => listener.ended(ends),
    })
    this.#checkpointer = new Checkpointer({ clock, data: this.data, onEnd: report })
    this.outbox = new OutboxDisk({
      clock,
      connection: this.#connection,
      caller: options.caller,
      onAgain: () => listener.storeAgain(),
      makeRoom: (failure) => (this.leads ? this.makeRoom(failure) : listener.roomNeeded()),
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
      if (!this.#connection.failure) void this.#recorder.settled()
    })
  }

  /** See `Connection.leads`. */
  get leads(): boolean {
    return this.#connection.leads
  }

  /** See `Connection.term`. */
  get term(): number | undefined {
    return this.#connection.term
  }

  /** See `Connection.heard`. */
  heard(term: number): void {
    this.#connection.heard(term)
  }

  /** Stores the data from now on, and locks out the previous leader. */
  lead(): void {
    this.#connection.lead()
  }

  /** Leaves storing the data to another client. */
  follow(): void {
    this.#connection.follow()
    this.#checkpointer.abort()
    this.#clearRetries()
    this.#recorder.rest()
    this.#report()
  }

  /**
   * Resolves once the database is open and its data is read. Never rejects: if the database does not open, all data is
   * in memory only. Deltas are not stored until `resume`, because they would not continue the stored data.
   */
  open(): Promise<void> {
    this.#opening ??= this.#isSealed ? Promise.resolve() : this.#open()
    return this.#opening
  }

  /** As `open`, but if this client is just attaching, resolves once it has. */
  async ready(): Promise<void> {
    await this.open()
    await this.#connection.settled()
  }

  /** Whether the database was ever open. */
  get isOpen(): boolean {
    return this.#connection.isOpen
  }

  get isSealed(): boolean {
    return this.#isSealed
  }

  /** The life of the database: see `Connection`. */
  get life(): string | undefined {
    return this.#connection.life
  }

  /** Where transactions and data are kept at present, and the reason if that is not as requested. */
  get status(): StorageStatus {
    const worst = this.#worst
    // `fenced` is no failure: this client stops leading, and follows.
    const failure = worst?.code === 'fenced' ? undefined : worst
    const kind = this.isGone || this.#refused ? 'memory' : this.kind
    return failure ? { kind, reason: failure.message } : { kind }
  }

  /** See `Connection.isGone`. Nothing is stored until the page is loaded again. */
  get isGone(): boolean {
    return this.#connection.isGone
  }

  get kind(): StorageStatus['kind'] {
    return this.#connection.kind
  }

  /** Why new data is not stored; `undefined` if it is. */
  get failure(): SyncError | undefined {
    return this.#recorder.failure
  }

  /** Stores a confirmed delta, after all earlier ones. For `later`, see `Recorder.record`. */
  record(entry: JournalEntry, later?: boolean): void {
    this.#recorder.record(entry, later)
    if (this.leads) this.#checkpointer.soon()
  }

  /** Stores the recorded deltas that wait. Returns whether there are any; they continue the stored data. */
  storeWaiting(): boolean {
    if (!this.#recorder.isWaiting) return false
    void this.#recorder.settled()
    return true
  }

  /** Memory and disk are equal: store the deltas that follow. */
  resume(): void {
    if (this.term !== undefined || (this.leads && !this.isOpen)) this.#recorder.resume()
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
    await this.data.drop().catch(() => {})
  }

  /**
   * Runs `store`, which replaces the data and resolves with its error, if it fails. `term`: that of the client when the
   * snapshot began.
   */
  async replace(term: number | undefined, store: () => Promise<SyncError | undefined>): Promise<Replaced> {
    this.#checkpointer.abort()
    this.#recorder.suspend()
    this.#dropFailure = undefined
    const { wipes } = this.#connection
    await this.#recorder.settled()
    const failure = (await store()) ?? this.#dropFailure
    await this.#connection.attaching
    const wasDisturbed = this.#isDisturbed
    this.#isDisturbed = this.#connection.wipes > wipes || (failure !== undefined && this.term !== term)
    if (this.#isDisturbed && !wasDisturbed) return 'again'
    const reason = this.#isDisturbed ? closedAgain() : failure
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
    await this.settled()
    if (!this.leads) return
    const { failure, suspended } = this.#recorder
    if (failure) throw failure
    if (suspended) throw outOfDate()
  }

  /** Resolves once everything recorded so far is durable or has failed, also if this client is just attaching. */
  async settled(): Promise<void> {
    await this.#recorder.settled()
    if (!this.#connection.attaching) return
    await this.#connection.settled()
    await this.#recorder.settled()
  }

  /**
   * Signs the user out in one transaction: removes the data and, unless they are kept, the transactions of all clients,
   * and locks every client out. Rejects with a PendingError or a StorageError, and changes nothing then.
   */
  async signOut(options: SignOut): Promise<SignedOut> {
    await this.ready()
    const { failure } = this.#connection
    // Where nothing can be stored, there is nothing to erase.
    if (failure && failure.code !== 'no_storage') throw failure
    try {
      return await signOut(this.#connection, options)
    } catch (error) {
      if (!isSyncError(error, 'StorageError') || error.code !== 'closed') throw error
      await this.#connection.attach()
      if (this.#connection.failure) throw error
      return signOut(this.#connection, options)
    }
  }

  /** Never opens a database for the first time. Resolves once a running `open` has ended. */
  async seal(): Promise<void> {
    this.#isSealed = true
    this.outbox.close()
    await this.ready()
    // What is in memory is safe only in a database.
    if (this.isOpen && this.#connection.failure) await this.#connection.attach()
    await this.#connection.settled()
  }

  /** Closes the database. Call `seal` first. */
  async close(): Promise<void> {
    this.#checkpointer.abort()
    await this.settled()
    await this.#connection.close()
    this.#clearRetries()
  }

  async #open(): Promise<void> {
    await this.#listener.opening()
    await this.#connection.attach()
    await this.#connection.settled()
  }

  async #attached(found: Found): Promise<void> {
    this.#checkpointer.abort()
    // What is recorded continues only the database that this client had.
    if (found !== 'same') this.#recorder.suspend()
    this.#report()
    const compared = this.#listener.attached(found)
    if (found === 'first' && !this.#isSealed) this.#opening = compared
    await compared
  }

  /** Recording has begun to fail with `failure`, or works again. */
  #onRecorderChange(failure: SyncError | undefined): void {
    this.#report()
    if (!this.leads) return
    if (failure) {
      this.#retry.within(this.#retryMs)
      this.#again.within(againMs)
    } else this.#clearRetries()
    if (failure?.code === 'broken_link') this.#listener.lost()
  }

  #clearRetries(): void {
    this.#retry.clear()
    this.#again.clear()
  }

  /** The first failure among attaching, recording, checkpoints and the outbox. */
  get #worst(): SyncError | undefined {
    return this.#connection.failure ?? this.failure ?? this.#checkpointer.failure ?? this.#refused
  }

  /** Why the next transaction may not be stored. */
  get #refused(): SyncError | undefined {
    return this.outbox.refused ?? this.#connection.refused
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
