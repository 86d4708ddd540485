import type { Emitter } from '../base/emitter.ts'
import type { SyncEvents } from './events.ts'
import { initialStatus, reduceStatus, type Status } from './status.ts'

/** Holds the status, and emits each change of the status once. */
export class StatusBoard {
  readonly #events: Emitter<SyncEvents>
  #status = initialStatus
  /** The status that listeners received last. */
  #emitted = initialStatus

  constructor(events: Emitter<SyncEvents>) {
    this.#events = events
  }

  get status(): Status {
    return this.#status
  }

  update(patch: Partial<Status>): void {
    this.#status = reduceStatus(this.#status, patch)
  }

  /** Emits the status if it has changed since the last call. */
  notify(): void {
    const before = this.#emitted
    if (before === this.#status) return
    this.#emitted = this.#status
    this.#events.emit('status', this.#emitted)
    if (this.#emitted.storage !== before.storage) this.#events.emit('storage', this.#emitted.storage)
  }
}
