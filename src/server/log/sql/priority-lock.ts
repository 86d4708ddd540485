import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Clock } from '../../../base/environment.ts'
import { NetworkError } from '../../../base/errors.ts'

export interface PriorityLockOptions {
  readonly clock: Clock
  /** How long it is waited for, in ms. */
  readonly maxWaitMs: number
}

/** Ends the waiting: by having it, or by why not. */
type Settle = (refusal?: NetworkError) => void

/** A lock on what only one can have at a time. What is soon done comes before what may take long. */
export class PriorityLock {
  readonly #options: PriorityLockOptions
  readonly #waiting: Readonly<Record<'soonDone' | 'long', Settle[]>> = { soonDone: [], long: [] }
  #taken = false
  #closed = false
  #onFree = () => {}

  constructor(options: PriorityLockOptions) {
    this.#options = options
  }

  /** Resolves with what lets it go. Rejects with a NetworkError where it is not had in time, or not at all. */
  async take(length: 'soonDone' | 'long'): Promise<Unsubscribe> {
    if (this.#closed) throw closed()
    if (this.#taken) await this.#wait(this.#waiting[length])
    this.#taken = true
    return () => this.#next()
  }

  /** Refuses those that wait. Resolves once nobody has it. */
  async close(): Promise<void> {
    this.#closed = true
    for (const queue of Object.values(this.#waiting)) for (const settle of queue.splice(0)) settle(closed())
    if (!this.#taken) return
    await new Promise<void>((resolve) => {
      this.#onFree = resolve
    })
  }

  #wait(queue: Settle[]): Promise<void> {
    const { clock, maxWaitMs } = this.#options
    return new Promise((resolve, reject) => {
      const settle: Settle = (refusal) => {
        cancel()
        if (refusal) reject(refusal)
        else resolve()
      }
      const cancel = clock.after(maxWaitMs, () => {
        queue.splice(queue.indexOf(settle), 1)
        settle(new NetworkError('timeout', `The database was in use for ${maxWaitMs} ms.`))
      })
      queue.push(settle)
    })
  }

  #next(): void {
    const next = this.#waiting.soonDone.shift() ?? this.#waiting.long.shift()
    if (next) next()
    else {
      this.#taken = false
      this.#onFree()
    }
  }
}

function closed(): NetworkError {
  return new NetworkError('unreachable', 'The database is closed.')
}
