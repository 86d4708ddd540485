import { type SyncError, toStorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import { checkpointDue } from '../database/checkpoint-due.ts'
import type { Database } from '../database/database.ts'
import { noDatabase } from '../database/none.ts'
import type { OutboxChange, StoredOutbox } from '../database/outbox.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { RowChange } from '../protocol/fold.ts'
import type { OverlayChange } from '../replica/overlay.ts'
import type { Replica, Staging } from '../replica/replica.ts'
import type { StorageStatus } from '../session/status.ts'
import { type Continuity, continuityAt, fetched, type Outcome, pushed } from './continuity.ts'
import type { PageSink } from './page-sink.ts'
import { Recorder } from './recorder.ts'

/** A checkpoint waits until deltas have come and gone for this long. */
const quietMs = 2_000

export interface LocalCopyOptions {
  readonly openDatabase: () => Promise<Database>
  readonly replica: Replica
  readonly clock: Clock
  readonly listener: CopyListener
  readonly pending: PendingWrites
}

/** The user's transactions, as far as the data decides about them. */
export interface PendingWrites {
  /** Counts on with each verdict of the server. */
  readonly mark: number
  /** A message came that may hold changes made by them. */
  heard(delta: DeltaMessage): void
  /** Another history came: what had been accepted in the old one is sent again. */
  requeue(): void
  /** Those that the data shows once it is proven up to `sid`, by a fetch that began at `mark`. */
  shownAt(sid: number, mark: number): readonly string[]
  /** By the same measure, what was rejected can now be compared with what the server has. */
  judgedAt(sid: number, mark: number): void
  /** These are shown by the data, and no longer laid over it. `stored` resolves once a restart would show them, too. */
  synced(ids: readonly string[], stored: Promise<void>): void
  /** What is on disk is here again. Calls `show` to lay it over the data. */
  restored(outbox: StoredOutbox, show: (overlay: OverlayChange) => void): void
}

export interface CopyListener {
  /** Calls `apply` to show `changes`, and that the transactions `lifted` are no longer laid over them. */
  change(changes: readonly RowChange[], lifted: readonly string[], apply: () => void): void
  /** Other data stands in place of the old. */
  replaced(): void
  storage(status: StorageStatus, failure?: SyncError): void
}

/** One identity's data, in memory and on disk, and how far it has come. */
export class LocalCopy {
  readonly #options: LocalCopyOptions
  #opening: Promise<void> | undefined
  #database: Database = noDatabase
  #recorder = new Recorder(noDatabase, () => {})
  #outbox: Promise<void> | undefined
  #continuity: Continuity | undefined
  #restoredAt: number | undefined
  #checkpoint: AbortController | undefined

  constructor(options: LocalCopyOptions) {
    this.#options = options
  }

  /** `undefined` until there is data. */
  get continuity(): Continuity | undefined {
    return this.#continuity
  }

  /** When what was restored had been stored, in ms since the epoch; `undefined` where nothing was. */
  get restoredAt(): number | undefined {
    return this.#restoredAt
  }

  get database(): Database {
    return this.#database
  }

  get replica(): Replica {
    return this.#options.replica
  }

  /** Restores what is stored. Never rejects: where the store fails, the copy is in memory alone. */
  open(): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  /** The same, and the transactions on disk are here. Rejects where they cannot be read; the next call tries again. */
  async openOutbox(): Promise<void> {
    await this.open()
    await this.#readOutbox()
  }

  /** To be called when a fetch begins; what it gives is to be passed on with what the fetch brings. */
  mark(): number {
    return this.#options.pending.mark
  }

  /** Takes the answer to a delta that was asked for with `since`; what came of it is shown, and will be stored. */
  fetched(delta: DeltaMessage, since: number, mark: number): Outcome | undefined {
    const receive = (continuity: Continuity) => fetched(continuity, delta, since, this.replica.rows)
    return this.#take(delta, mark, receive)
  }

  /** Takes a delta that was pushed. */
  pushed(delta: DeltaMessage): Outcome | undefined {
    return this.#take(delta, 0, (continuity) => pushed(continuity, delta, this.replica.rows))
  }

  /** Shows the transactions that the data has come to hold meanwhile as the data holds them. */
  settle(): void {
    if (this.#continuity) this.#change([], this.#continuity.proven, 0)
  }

  /** Puts a snapshot in place of the data, on disk first and then in memory, each in one step. */
  async replace(head: SnapshotHead, staging: Staging, pages: PageSink, mark: number): Promise<void> {
    const { pending } = this.#options
    await staging.prepare()
    this.#checkpoint?.abort()
    this.#recorder.suspend()
    await this.#recorder.settled()
    const failure = await pages.commit(head)
    if (failure) this.#recorder.fail(failure)
    else this.#recorder.resume()
    // Where there was no data, it is not known in which history something was accepted.
    if (!this.#continuity || isOtherHistory(this.#continuity, head)) pending.requeue()
    const lift = pending.shownAt(head.sid, mark)
    this.#show(staging, continuityAt(head.sid, head.epoch), { lift })
    if (lift.length > 0) pending.synced(lift, failure ? Promise.reject(failure) : Promise.resolve())
    pending.judgedAt(head.sid, mark)
  }

  /** Changes the transactions on disk. A store without room gives up the data for them, which can be fetched again. */
  async writeOutbox(change: OutboxChange): Promise<boolean> {
    await this.open()
    try {
      return await this.#database.outbox.write(change)
    } catch (error) {
      const failure = toStorageError(error)
      if (failure.code !== 'quota') throw failure
      this.#checkpoint?.abort()
      this.#recorder.fail(failure)
      await this.#database.drop()
      return await this.#database.outbox.write(change)
    }
  }

  /**
   * Stores nothing of what follows until the next snapshot: a restart then begins from before it. With `failure`, that
   * is not to be expected soon, and is told.
   */
  distrust(failure?: SyncError): void {
    if (failure) this.#recorder.fail(failure)
    else this.#recorder.suspend()
  }

  /** Resolves once all that was taken is durable; rejects with a StorageError where it cannot be made so. */
  async stored(): Promise<void> {
    await this.#recorder.settled()
    if (this.#recorder.failure) throw this.#recorder.failure
  }

  /** Resolves once all that was taken is durable, or cannot be made so. */
  settled(): Promise<void> {
    return this.#recorder.settled()
  }

  async close(): Promise<void> {
    await this.#opening
    this.#checkpoint?.abort()
    await this.#recorder.settled()
    this.#database.close()
  }

  async #open(): Promise<void> {
    try {
      this.#database = await this.#options.openDatabase()
    } catch (error) {
      this.#tellStorage(toStorageError(error))
      return
    }
    this.#recorder = new Recorder(this.#database, (failure) => this.#tellStorage(failure))
    // Until something is restored, there is nothing that a delta could follow from.
    this.#recorder.suspend()
    this.#tellStorage(undefined)
    // Where this fails, sending waits until it has succeeded.
    await this.#readOutbox().catch(() => {})
    try {
      await this.#restore()
    } catch (error) {
      this.#recorder.fail(toStorageError(error))
    }
  }

  async #restore(): Promise<void> {
    const staging = this.replica.stage()
    const restored = await this.#database.restore({
      rows: (rows) => staging.add(rows),
      ops: (ops) => staging.apply(ops),
    })
    if (!restored) return
    await staging.prepare()
    this.#recorder.resume()
    this.#restoredAt = restored.at
    const { pending } = this.#options
    const lift = pending.shownAt(restored.sid, 0)
    this.#show(staging, continuityAt(restored.sid, restored.epoch), { lift })
    if (lift.length > 0) pending.synced(lift, Promise.resolve())
  }

  #readOutbox(): Promise<void> {
    this.#outbox ??= this.#restoreOutbox().catch((error) => {
      this.#outbox = undefined
      throw error
    })
    return this.#outbox
  }

  async #restoreOutbox(): Promise<void> {
    const { pending, listener } = this.#options
    const outbox = await this.#database.outbox.read()
    pending.restored(outbox, (overlay) => listener.change([], [], () => this.replica.apply([], overlay)))
  }

  #take(
    delta: DeltaMessage,
    mark: number,
    receive: (continuity: Continuity) => Outcome,
  ): Outcome | undefined {
    if (!this.#continuity) return undefined
    const outcome = receive(this.#continuity)
    const { state, changes, entry, reset } = outcome
    this.#continuity = state
    if (entry) {
      this.#recorder.record(entry)
      this.#checkpointSoon()
    }
    this.#options.pending.heard(delta)
    if (!reset) this.#change(changes, state.proven, mark)
    return outcome
  }

  /** Shows `changes`, and the transactions that they bring, in one step. */
  #change(changes: readonly RowChange[], proven: number, mark: number): void {
    const { pending, listener } = this.#options
    const lift = pending.shownAt(proven, mark)
    if (changes.length > 0 || lift.length > 0) {
      listener.change(changes, lift, () => this.replica.apply(changes, { lift }))
    }
    if (lift.length > 0) pending.synced(lift, this.stored())
    pending.judgedAt(proven, mark)
  }

  #show(staging: Staging, continuity: Continuity, overlay?: OverlayChange): void {
    this.replica.swap(staging, overlay)
    this.#continuity = continuity
    this.#options.listener.replaced()
  }

  #checkpointSoon(): void {
    if (this.#checkpoint || !checkpointDue(this.#database.size)) return
    const checkpoint = new AbortController()
    this.#checkpoint = checkpoint
    const cancel = this.#options.clock.after(quietMs, () => void this.#runCheckpoint(checkpoint))
    checkpoint.signal.addEventListener('abort', () => {
      cancel()
      this.#checkpoint = undefined
    })
  }

  async #runCheckpoint(checkpoint: AbortController): Promise<void> {
    try {
      await this.#database.checkpoint(checkpoint.signal)
      this.#tellStorage(this.#recorder.failure)
    } catch (error) {
      // What a checkpoint does not do stays in the journal.
      if (!checkpoint.signal.aborted) this.#tellStorage(toStorageError(error))
    } finally {
      if (this.#checkpoint === checkpoint) this.#checkpoint = undefined
    }
  }

  #tellStorage(failure: SyncError | undefined): void {
    const { kind } = this.#database
    this.#options.listener.storage(failure ? { kind, reason: failure.message } : { kind }, failure)
  }
}

/** Only what both sides know counts: a server need not say its epoch. */
function isOtherHistory({ epoch, proven }: Continuity, head: SnapshotHead): boolean {
  return head.sid < proven || (epoch !== undefined && head.epoch !== undefined && epoch !== head.epoch)
}
