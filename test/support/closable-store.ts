import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'

/** A store whose open connections the engine may close by itself. */
export class ClosableStore {
  readonly store: Store = {
    kind: 'memory',
    open: (name) => this.#open(name),
    destroy: (name) => this.#inner.destroy(name),
  }
  /** How often it was opened, and how often that will fail from now on. */
  opened = 0
  refusals = 0
  #inner = memoryStore()
  #closings = 0

  /** Closes what is open; with what it held, or without. */
  close(left: 'all' | 'nothing'): void {
    this.#closings += 1
    if (left === 'nothing') this.#inner = memoryStore()
  }

  async #open(name: string) {
    this.opened += 1
    if (this.refusals > 0) {
      this.refusals -= 1
      throw closed()
    }
    const connection = await this.#inner.open(name)
    const closings = this.#closings
    const transaction: typeof connection.transaction = async (options, body) => {
      if (closings !== this.#closings) throw closed()
      return connection.transaction(options, body)
    }
    return { ...connection, transaction }
  }
}

function closed(): StorageError {
  return new StorageError('closed', 'The engine closed it.', { retryable: true })
}
