import { StorageError } from '../base/errors.ts'
import { abortable } from '../storage/abortable.ts'
import { Loss } from '../storage/loss.ts'
import type { StoreConnection, StoreTransaction, TransactionOptions } from '../storage/store.ts'
import { runBody } from '../storage/sync-transaction.ts'
import type { SqliteHandle } from './handle.ts'

/**
 * A file, with all the connections that this process has to it. What they do is done one after another: SQLite would
 * wait for a transaction of the same process where nothing could end it.
 */
export class SqliteFile {
  #last: Promise<unknown> = Promise.resolve()
  readonly #open = new Map<StoreConnection, () => Loss>()

  /** Opens it once what is under way is over. */
  connect(open: () => SqliteHandle): Promise<StoreConnection> {
    return this.#inTurn(() => this.#connection(open()))
  }

  /** Closes every connection, and then does `work`. */
  destroy(work: () => void): Promise<void> {
    const losses = [...this.#open.values()].map((close) => close())
    for (const loss of losses) loss.tell(closed())
    return this.#inTurn(work)
  }

  #connection(handle: SqliteHandle): StoreConnection {
    const loss = new Loss()
    const connection: StoreConnection = {
      transaction: async (options, body) => {
        if (!this.#open.has(connection)) throw closed()
        return this.#transaction(handle, options, body)
      },
      close: () => void this.#open.get(connection)?.(),
      onLost: (listener) => loss.on(listener),
    }
    this.#open.set(connection, () => {
      this.#open.delete(connection)
      void this.#inTurn(() => handle.close())
      return loss
    })
    return connection
  }

  #transaction<T>(
    handle: SqliteHandle,
    options: TransactionOptions,
    body: (tx: StoreTransaction) => T | Promise<T>,
  ): Promise<T> {
    const { signal } = options
    return abortable(signal, (aborted) =>
      this.#inTurn(async () => {
        signal?.throwIfAborted()
        handle.begin(options)
        try {
          const result = await runBody(handle, options, body, aborted)
          handle.commit()
          return result
        } catch (error) {
          handle.rollback()
          throw error
        }
      }),
    )
  }

  #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }
}

function closed(): StorageError {
  return new StorageError('closed', 'This connection to the local database is closed.')
}
