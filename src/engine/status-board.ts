import type { Emitter } from '../base/emitter.ts'
import type { SyncEvents } from './events.ts'
import { initialStatus, reduceStatus, type Status } from './status.ts'

/** Holds the status, and emits each change of the status once. */
export class StatusBoard {
  readonly #events: Emitter<SyncEvents>
  #status = initialStatus
  /** The status that listeners received last. */
  #emitted = initialStatus
  #isHolding = false

  constructor(events: Emitter<SyncEvents>) {
    this.#events = events
  }

  get status(): Status {
    return this.#status
  }

  update(patch: Partial<Status>): void {
    this.during(() => {
      this.#status = reduceStatus(this.#status, patch)
    })
  }

  /** Runs `change`, and emits its updates after it returns, since a listener may change anything. */
  during<T>(change: () => T): T {
    if (this.#isHolding) return change()
    this.#isHolding = true
    try {
      return change()
    } finally {
      // If a listener changes the status, all listeners receive the current one before the next.
      while (this.#emitted !== this.#status) {
        const before = this.#emitted
        this.#emitted = this.#status
        this.#events.emit('status', this.#emitted)
        if (this.#emitted.storage !== before.storage) this.#events.emit('storage', this.#emitted.storage)
      }
      this.#isHolding = false
    }
  }
}
