import { isSyncError, type SyncError, toStorageError } from '../base/errors.ts'
import type { RowOp } from '../protocol/fold.ts'
import type { Database, JournalEntry } from './database.ts'

/** More than this is not kept in memory for a store that fails; it can be fetched again. */
const maxOpsKept = 50_000

/**
 * Writes the proven deltas to the journal, in order, one write at a time. What waits meanwhile is joined into one entry.
 * A write that failed is tried again before the next one, so that no hole comes to be.
 */
export class Recorder {
  #database: Database
  readonly #onChange: (failure: SyncError | undefined) => void
  #waiting: (JournalEntry & { readonly ops: RowOp[] }) | undefined
  /** The one that is being written, or could not be. */
  #current: JournalEntry | undefined
  #writing: Promise<void> | undefined
  #failure: SyncError | undefined
  #suspended = false

  /** `onChange` is told when writing begins to fail, and when it works again. */
  constructor(database: Database, onChange: (failure: SyncError | undefined) => void) {
    this.#database = database
    this.#onChange = onChange
  }

  /** Why writing fails, if it does. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** Whether nothing is stored until a snapshot was. */
  get suspended(): boolean {
    return this.#suspended
  }

  /** `later`: not in this turn, in which it is to be shown first. */
  record(entry: JournalEntry, later = false): void {
    if (this.#suspended) return
    // Of what waits, nothing is copied again: there may be thousands of deltas in one turn.
    const { since = entry.since, ops = [], owesRepair } = this.#waiting ?? {}
    for (const op of entry.ops) ops.push(op)
    this.#waiting = { ...entry, since, ops, owesRepair: entry.owesRepair || owesRepair }
    const kept = this.#waiting.ops.length + (this.#current?.ops.length ?? 0)
    if (this.#failure && kept > maxOpsKept) this.suspend()
    else this.#writing ??= this.#write(later)
  }

  /** Resolves once all that was recorded is stored, or cannot be. What failed before is tried again. */
  async settled(): Promise<void> {
    if (this.#current ?? this.#waiting) this.#writing ??= this.#write()
    await this.#writing
  }

  /**
   * Stores nothing more until a snapshot was stored: what comes now does not follow from what is stored. With `failure`, that
   * is not as it should be.
   */
  suspend(failure?: SyncError): void {
    this.#suspended = true
    this.#drop()
    if (failure) this.#report(failure)
  }

  /** `database` was opened in place of the one that failed: what could not be written there is written here. */
  use(database: Database): void {
    this.#database = database
    this.#report(undefined)
    void this.settled()
  }

  /** A snapshot was stored: what comes now follows from it. */
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
        this.#current = this.#waiting
        this.#waiting = undefined
        await this.#database.append(this.#current)
        this.#written()
      }
    } catch (error) {
      // What was given up on meanwhile was so for a reason of its own.
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
      await this.#database.append(entry)
    } catch (error) {
      if (!isSyncError(error, 'StorageError') || error.code !== 'broken_link') throw error
      // A store that told of no end in time may have stored it all the same: then nothing follows from it yet.
      await this.#database.append({ ...entry, since: entry.sid, ops: [] })
    }
    this.#written()
  }

  #written(): void {
    this.#current = undefined
    // What was given up on meanwhile stays so.
    if (!this.#suspended) this.#report(undefined)
  }

  #drop(): void {
    this.#waiting = undefined
    this.#current = undefined
  }

  #report(failure: SyncError | undefined): void {
    if (failure?.code === this.#failure?.code) return
    this.#failure = failure
    this.#onChange(failure)
  }
}

/** Whether the same write cannot succeed later. */
export function isHopeless({ code, retryable }: SyncError): boolean {
  return code === 'fenced' || code === 'broken_link' || (code === 'closed' && !retryable)
}
