import type { Unsubscribe } from '../base/emitter.ts'
import type { Clock } from '../base/environment.ts'
import { type SyncError, toStorageError } from '../base/errors.ts'
import { checkpointDue } from './checkpoint-due.ts'
import type { Data } from './data.ts'

/** A checkpoint waits this long after it becomes due, so that it does not compete with a burst of deltas. */
const quietMs = 2_000

export interface CheckpointerOptions {
  readonly clock: Clock
  readonly data: Pick<Data, 'checkpoint' | 'size'>
  /** A checkpoint has ended or failed: read `failure` again. */
  readonly onEnd: () => void
}

/** Runs a checkpoint when the journal has grown large enough, one at a time. */
export class Checkpointer {
  readonly #options: CheckpointerOptions
  #current: AbortController | undefined
  #failure: SyncError | undefined
  #cancel: Unsubscribe = () => {}

  constructor(options: CheckpointerOptions) {
    this.#options = options
  }

  /** The error of the last checkpoint; `undefined` if it succeeded or was aborted. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** Schedules a checkpoint if one is due. Call after each write. */
  soon(): void {
    const { clock, data } = this.#options
    if (this.#current || !checkpointDue(data.size)) return
    const checkpoint = new AbortController()
    this.#current = checkpoint
    this.#cancel = clock.after(quietMs, () => void this.#run(checkpoint))
  }

  /** Ends the running or scheduled checkpoint, and clears `failure`. */
  abort(): void {
    this.#cancel()
    this.#current?.abort()
    this.#current = undefined
    this.#failure = undefined
  }

  async #run(checkpoint: AbortController): Promise<void> {
    const { data, onEnd } = this.#options
    const ended = data.checkpoint(checkpoint.signal)
    // A failed checkpoint loses nothing: its changes are still in the journal.
    const failure = await ended.then(() => undefined, toStorageError)
    if (checkpoint.signal.aborted) return
    this.#current = undefined
    this.#failure = failure
    onEnd()
  }
}
