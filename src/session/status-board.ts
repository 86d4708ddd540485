import type { Emitter } from '../base/emitter.ts'
import type { SyncEvents } from './events.ts'
import { initialStatus, reduceStatus, type Status } from './status.ts'

/** Holds the status, and tells each change of it once. */
export class StatusBoard {
  readonly #events: Emitter<SyncEvents>
  #status = initialStatus

  constructor(events: Emitter<SyncEvents>) {
    this.#events = events
  }

  get status(): Status {
    return this.#status
  }

  update(patch: Partial<Status>): void {
    const before = this.#status
    this.#status = reduceStatus(before, patch)
    if (this.#status === before) return
    this.#events.emit('status', this.#status)
    if (this.#status.storage !== before.storage) this.#events.emit('storage', this.#status.storage)
  }
}
