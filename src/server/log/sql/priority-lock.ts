import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Clock } from '../../../base/environment.ts'
import { NetworkError } from '../../../base/errors.ts'

export interface PriorityLockOptions {
  readonly clock: Clock
  /** How long `take` waits for the lock, in ms. */
  readonly maxWaitMs: number
}

/** Ends the wait: with the lock, or with the error. */
type Settle = (refusal?: NetworkError) => void

/** A lock that one user holds at a time. Short tasks are served before long ones. */
export class PriorityLock {
  readonly #options: PriorityLockOptions
  readonly #waiting: Readonly<Record<'soonDone' | 'long', Settle[]>> = { soonDone: [], long: [] }
  #taken = false
  #closed = false
  #onFree = () => {}

  constructor(options: PriorityLockOptions) {
    this.#options = options
  }

  /**
   * Resolves with the function that releases the lock. Rejects with a NetworkError if the lock is not free in time, or
   * is closed.
   */
  async take(length: 'soonDone' | 'long'): Promise<Unsubscribe> {
    if (this.#closed) throw closed()
    if (this.#taken) await this.#wait(this.#waiting[length])
    this.#taken = true
    return () => this.#next()
  }

  /** Rejects all waiting calls. Resolves once nobody holds the lock. */
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
