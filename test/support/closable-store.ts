import { StorageError } from '../../src/base/errors.ts'
import { ConnectionLost } from '../../src/storage/connection-lost.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store, StoreConnection } from '../../src/storage/store.ts'

/** A store whose open connections the engine may close by itself. */
export class ClosableStore {
  readonly store: Store
  /** How often it was opened, and how often that will fail from now on. */
  opened = 0
  refusals = 0
  /** The database that was opened last. */
  name = ''
  #inner: Store
  #closing = new Closing()

  constructor(inner = memoryStore()) {
    this.#inner = inner
    this.store = {
      kind: inner.kind,
      open: (name) => this.#open(name),
      destroy: (name) => this.#inner.destroy(name),
    }
  }

  /** Closes what is open, in the middle of whatever it does; with what it held, or without. */
  close(left: 'all' | 'nothing'): void {
    const closing = this.#closing
    this.#closing = new Closing()
    if (left === 'nothing') this.#inner = memoryStore()
    closing.isOver = true
    closing.loss.tell(closed())
  }

  async #open(name: string): Promise<StoreConnection> {
    this.opened += 1
    this.name = name
    if (this.refusals > 0) {
      this.refusals -= 1
      throw closed()
    }
    const closing = this.#closing
    return until(closing, await this.#inner.open(name))
  }
}

/** What becomes of the connections that are open at once. */
class Closing {
  readonly loss = new ConnectionLost()
  isOver = false
}

function until(closing: Closing, connection: StoreConnection): StoreConnection {
  return {
    ...connection,
    async transaction(options, body) {
      if (closing.isOver) throw closed()
      const cut = new AbortController()
      const signal = options.signal ? AbortSignal.any([options.signal, cut.signal]) : cut.signal
      return new Promise((resolve, reject) => {
        const undo = closing.loss.on((failure) => {
          // What has come to its end by now stays stored, and is told like the rest.
          reject(failure)
          cut.abort()
        })
        connection
          .transaction({ ...options, signal }, body)
          .then(resolve, reject)
          .finally(undo)
      })
    },
    onLost(listener) {
      const undo = [closing.loss.on(listener), connection.onLost(listener)]
      return () => {
        for (const one of undo) one()
      }
    },
  }
}

function closed(): StorageError {
  return new StorageError('closed', 'The engine closed it.', { retryable: true })
}
