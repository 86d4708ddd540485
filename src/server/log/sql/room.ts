import { toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { isFull } from './sql-state.ts'

/** Whether the database has room, as the last write has shown. */
export class Room {
  readonly #logger: Logger
  #isFull = false

  constructor(logger: Logger) {
    this.#logger = logger
  }

  get isFull(): boolean {
    return this.#isFull
  }

  /** A write has failed. */
  failed(error: unknown): void {
    if (!isFull(error)) return
    if (!this.#isFull) {
      const reason = toError(error).message
      this.#logger.error('The database has no room for writes; make room on its disk.', { reason })
    }
    this.#isFull = true
  }

  /** A write is stored. */
  stored(): void {
    if (this.#isFull) this.#logger.info('The database has room for writes again.')
    this.#isFull = false
  }
}
