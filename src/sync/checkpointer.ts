import type { Undo } from '../base/emitter.ts'
import { type SyncError, toStorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import { checkpointDue } from '../database/checkpoint-due.ts'
import type { Database } from '../database/database.ts'

/** A checkpoint waits until deltas have come and gone for this long. */
const quietMs = 2_000

export interface CheckpointerOptions {
  readonly clock: Clock
  readonly database: () => Database
  /** One has ended, or failed. */
  readonly onEnd: (failure: SyncError | undefined) => void
}

/** Has the journal folded into the pages when it has grown, one checkpoint at a time. */
export class Checkpointer {
  readonly #options: CheckpointerOptions
  #current: AbortController | undefined
  #cancel: Undo = () => {}

  constructor(options: CheckpointerOptions) {
    this.#options = options
  }

  /** Something was stored. */
  soon(): void {
    const { clock, database } = this.#options
    if (this.#current || !checkpointDue(database().size)) return
    const checkpoint = new AbortController()
    this.#current = checkpoint
    this.#cancel = clock.after(quietMs, () => void this.#run(checkpoint))
  }

  /** Ends the one that is under way, or to come. */
  abort(): void {
    this.#cancel()
    this.#current?.abort()
    this.#current = undefined
  }

  async #run(checkpoint: AbortController): Promise<void> {
    const { database, onEnd } = this.#options
    try {
      await database().checkpoint(checkpoint.signal)
      if (!checkpoint.signal.aborted) onEnd(undefined)
    } catch (error) {
      // What a checkpoint does not do stays in the journal.
      if (!checkpoint.signal.aborted) onEnd(toStorageError(error))
    } finally {
      if (this.#current === checkpoint) this.#current = undefined
    }
  }
}
