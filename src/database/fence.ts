import { StorageError } from '../base/errors.ts'
import type { StoreConnection, StoreTransaction, Table } from '../storage/store.ts'
import { metaKeys, readHead } from './format.ts'
import { type OutboxStore, openOutbox } from './outbox.ts'

/** A connection whose every write is refused once somebody else has opened the database. */
export class FencedConnection {
  readonly fence: number
  /** By which a worker opens the same database; `undefined` where none can. */
  readonly name: string | undefined
  readonly outbox: OutboxStore
  readonly #connection: StoreConnection
  #writes = 0

  private constructor(connection: StoreConnection, fence: number, name?: string) {
    this.#connection = connection
    this.fence = fence
    this.name = name
    this.outbox = openOutbox(connection)
  }

  /** Raises the fence, so that whoever was here before is refused, and drops data of another format. */
  static async raise(connection: StoreConnection, name?: string): Promise<FencedConnection> {
    const options = { tables: ['meta', 'pages', 'journal'], mode: 'write' } as const
    const fence = await connection.transaction(options, async (tx) => {
      const [last, head] = await Promise.all([tx.get('meta', metaKeys.fence), tx.get('meta', metaKeys.head)])
      const next = (typeof last === 'number' ? last : 0) + 1
      tx.put('meta', metaKeys.fence, next)
      if (head !== undefined && readHead(head) === undefined) drop(tx)
      return next
    })
    return new FencedConnection(connection, fence, name)
  }

  /** Writes on behalf of whoever raised the fence to `fence`, and is refused together with them. */
  static join(connection: StoreConnection, fence: number): FencedConnection {
    return new FencedConnection(connection, fence)
  }

  /** How many writes were begun: while it stays the same, nothing has changed, or is about to. */
  get writes(): number {
    return this.#writes
  }

  /** Runs `body` in one write transaction. Rejects with a StorageError of code `fenced` where somebody came after us. */
  write<T>(tables: readonly Table[], body: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    this.#writes += 1
    return this.#connection.transaction({ tables: ['meta', ...tables], mode: 'write' }, async (tx) => {
      // Side by side with the reads of `body`; whatever it has put by then, a throw takes back.
      const [, result] = await Promise.all([this.#compare(tx), body(tx)])
      return result
    })
  }

  read<T>(tables: readonly Table[], body: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.#connection.transaction({ tables: ['meta', ...tables], mode: 'read' }, body)
  }

  /** Removes all that can be fetched again. */
  drop(): Promise<void> {
    return this.write(['pages', 'journal'], async (tx) => drop(tx))
  }

  close(): void {
    this.#connection.close()
  }

  async #compare(tx: StoreTransaction): Promise<void> {
    if ((await tx.get('meta', metaKeys.fence)) === this.fence) return
    const advice = 'this one is no longer the one that writes'
    throw new StorageError('fenced', `The local database was opened by another client: ${advice}.`)
  }
}

function drop(tx: StoreTransaction): void {
  tx.delete('meta', metaKeys.head)
  tx.delete('meta', metaKeys.manifest)
  tx.delete('pages', {})
  tx.delete('journal', {})
}
