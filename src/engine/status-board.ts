import type { Emitter } from '../base/emitter.ts'
import type { SyncEvents } from './events.ts'
import { initialStatus, reduceStatus, type Status } from './status.ts'

/** Holds the status, and tells each change of it once. */
export class StatusBoard {
  readonly #events: Emitter<SyncEvents>
  #status = initialStatus
  #told = initialStatus
  #telling = false

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

  /** Makes `change`, whose updates are told when all of it is done: a listener may change anything. */
  during<T>(change: () => T): T {
    if (this.#telling) return change()
    this.#telling = true
    try {
      return change()
    } finally {
      // What a listener changes is told after the rest have heard.
      while (this.#told !== this.#status) {
        const before = this.#told
        this.#told = this.#status
        this.#events.emit('status', this.#told)
        if (this.#told.storage !== before.storage) this.#events.emit('storage', this.#told.storage)
      }
      this.#telling = false
    }
  }
}
