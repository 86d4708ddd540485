import { isSyncError, type SyncError, toStorageError } from '../base/errors.ts'
import type { OutboxEnd } from './outbox.ts'
import type { JournalEntry, JournalOp } from './stored-data.ts'

/** The number of ops kept in memory while the store fails. More ops are dropped, since they can be fetched again. */
const maxOpsKept = 50_000

export interface RecorderListener {
  /** Writing begins to fail or fails with another code, or works again. */
  changed(failure: SyncError | undefined): void
  /** The ends of transactions are stored. */
  ended(ends: readonly OutboxEnd[]): void
}

/**
 * Writes the confirmed deltas to the journal, in order, one write at a time. Deltas that wait during a write are joined
 * into one entry. A failed write is tried again before the next one, so that the journal never has a hole.
 */
export class Recorder {
  readonly #append: (entry: JournalEntry) => Promise<void>
  readonly #listener: RecorderListener
  #waiting: (JournalEntry & { readonly ops: JournalOp[] }) | undefined
  /** The entry that is being written or has failed. */
  #current: JournalEntry | undefined
  #writing: Promise<void> | undefined
  #failure: SyncError | undefined
  #suspended = false

  /** `append`: see `Data.append`. */
  constructor(append: (entry: JournalEntry) => Promise<void>, listener: RecorderListener) {
    this.#append = append
    this.#listener = listener
  }

  /** The error of the last write; `undefined` if writing works. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** Whether nothing is stored until the next snapshot. */
  get suspended(): boolean {
    return this.#suspended
  }

  /** Whether there are entries that are not stored yet. */
  get isWaiting(): boolean {
    return (this.#current ?? this.#waiting) !== undefined
  }

  /** Stores `entry` after all earlier entries. `later`: in a later turn, so that the data is shown first. */
  record(entry: JournalEntry, later = false): void {
    if (this.#suspended) return
    // Do not copy the waiting ops: there may be thousands of deltas in one turn.
    const { since = entry.since, ops = [], owesRepair, ends = [] } = this.#waiting ?? {}
    for (const op of entry.ops) ops.push(op)
    this.#waiting = {
      ...entry,
      since,
      ops,
      owesRepair: entry.owesRepair || owesRepair,
      ends: [...ends, ...(entry.ends ?? [])],
    }
    const kept = this.#waiting.ops.length + (this.#current?.ops.length ?? 0)
    if (this.#failure && kept > maxOpsKept) this.suspend()
    else this.#writing ??= this.#write(later)
  }

  /** Resolves once all recorded entries are stored or have failed. Tries a failed entry again. */
  async settled(): Promise<void> {
    if (this.isWaiting) this.#writing ??= this.#write()
    await this.#writing
  }

  /**
   * Stores nothing until the next snapshot, because new deltas do not continue the stored data. Pass `failure` to
   * report it to the listener.
   */
  suspend(failure?: SyncError): void {
    this.#suspended = true
    this.#drop()
    if (failure) this.#report(failure)
  }

  /** Stores nothing, and has no failure: another client stores the data. */
  rest(): void {
    this.#suspended = true
    this.#drop()
    this.#failure = undefined
  }

  /** A snapshot was stored, and new deltas continue it: store them. */
  resume(): void {
    this.#suspended = false
    this.#drop()
    this.#report(undefined)
  }

  async #write(later = false): Promise<void> {
    if (later) await undefined
    try {
      if (this.#current) await this.#writeAgain(this.#current)
      while (this.#waiting) {
        const entry = this.#waiting
        this.#current = entry
        this.#waiting = undefined
        await this.#append(entry)
        this.#written(entry)
      }
    } catch (error) {
      // If `suspend` was called during the write, its caller has already reported the reason.
      if (!this.#suspended) {
        const failure = toStorageError(error)
        if (isHopeless(failure)) this.suspend()
        this.#report(failure)
      }
    }
    this.#writing = undefined
  }

  async #writeAgain(entry: JournalEntry): Promise<void> {
    try {
      await this.#append(entry)
    } catch (error) {
      if (!isSyncError(error, 'StorageError') || error.code !== 'broken_link') throw error
      // A write that timed out may have been stored all the same. Check that the stored position is the end of this
      // entry.
      await this.#append({ ...entry, since: entry.sid, ops: [] })
    }
    this.#written(entry)
  }

  #written({ ends = [] }: JournalEntry): void {
    this.#current = undefined
    if (ends.length > 0) this.#listener.ended(ends)
    // If `suspend` was called during the write, keep its failure.
    if (!this.#suspended) this.#report(undefined)
  }

  #drop(): void {
    this.#waiting = undefined
    this.#current = undefined
  }

  #report(failure: SyncError | undefined): void {
    if (failure?.code === this.#failure?.code) return
    this.#failure = failure
    this.#listener.changed(failure)
  }
}

/** Whether the same write cannot succeed later. */
export function isHopeless({ code, retryable }: SyncError): boolean {
  return code === 'fenced' || code === 'broken_link' || (code === 'closed' && !retryable)
}
