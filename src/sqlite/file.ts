import { statSync } from 'node:fs'
import { StorageError } from '../base/errors.ts'
import { abortable } from '../storage/abortable.ts'
import { ConnectionLost } from '../storage/connection-lost.ts'
import type { StoreConnection, StoreTransaction, TransactionOptions } from '../storage/store.ts'
import { runBody } from '../storage/sync-transaction.ts'
import type { SqliteHandle } from './handle.ts'

/**
 * A database file and all connections of this process to it. Their transactions run one after another: SQLite would
 * block the thread to wait for a transaction of the same process, which then could not end.
 */
export class SqliteFile {
  readonly #path: string
  #last: Promise<unknown> = Promise.resolve()
  readonly #open = new Map<StoreConnection, ConnectionLost>()
  /** The open handles, including those of closed connections whose transactions still run. */
  readonly #handles = new Set<SqliteHandle>()

  constructor(path: string) {
    this.#path = path
  }

  /** Opens a connection after all running work has ended. */
  connect(open: () => SqliteHandle): Promise<StoreConnection> {
    return this.#inTurn(() => this.#connection(open()))
  }

  /** Closes every connection, then runs `work`. */
  destroy(work: () => void): Promise<void> {
    this.#loseAll()
    return this.#inTurn(() => {
      // Close the connections that were opened while this waited.
      this.#loseAll()
      for (const handle of this.#handles) this.#end(handle)
      work()
    })
  }

  #connection(handle: SqliteHandle): StoreConnection {
    const loss = new ConnectionLost()
    const inode = this.#inode
    const connection: StoreConnection = {
      transaction: async (options, body) => {
        // Another process may have deleted the file. Writes to the deleted file would be lost.
        if (inode !== this.#inode) this.#loseAll()
        if (!this.#open.has(connection)) throw closed()
        return this.#transaction(handle, options, body)
      },
      close: () => {
        if (this.#open.delete(connection)) void this.#inTurn(() => this.#end(handle))
      },
      onLost: (listener) => loss.on(listener),
    }
    this.#open.set(connection, loss)
    this.#handles.add(handle)
    return connection
  }

  get #inode(): number | undefined {
    return statSync(this.#path, { throwIfNoEntry: false })?.ino
  }

  #loseAll(): void {
    const losses = [...this.#open.values()]
    this.#open.clear()
    for (const loss of losses) loss.tell(closed())
  }

  #end(handle: SqliteHandle): void {
    if (this.#handles.delete(handle)) handle.close()
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
        if (!this.#handles.has(handle)) throw closed()
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
