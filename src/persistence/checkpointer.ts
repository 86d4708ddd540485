import type { Unsubscribe } from '../base/emitter.ts'
import type { Clock } from '../base/environment.ts'
import { type SyncError, toStorageError } from '../base/errors.ts'
import { checkpointDue } from './checkpoint-due.ts'
import type { Database } from './database.ts'

/** A checkpoint waits until deltas have come and gone for this long. */
const quietMs = 2_000

export interface CheckpointerOptions {
  readonly clock: Clock
  readonly database: () => Database
  /** One has ended, or failed: `failure` may be another. */
  readonly onEnd: () => void
}

/** Has the journal folded into the pages when it has grown, one checkpoint at a time. */
export class Checkpointer {
  readonly #options: CheckpointerOptions
  #current: AbortController | undefined
  #failure: SyncError | undefined
  #cancel: Unsubscribe = () => {}

  constructor(options: CheckpointerOptions) {
    this.#options = options
  }

  /** Why the last one failed, unless what it was to fold is there no more. */
  get failure(): SyncError | undefined {
    return this.#failure
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
    this.#failure = undefined
  }

  async #run(checkpoint: AbortController): Promise<void> {
    const { database, onEnd } = this.#options
    const ended = database().checkpoint(checkpoint.signal)
    // What a checkpoint does not do stays in the journal.
    const failure = await ended.then(() => undefined, toStorageError)
    if (checkpoint.signal.aborted) return
    this.#current = undefined
    this.#failure = failure
    onEnd()
  }
}
