import { StorageError } from '../base/errors.ts'
import type { KeyRange, KeySpan, StoreTransaction, StoreValue, Table, TransactionOptions } from './store.ts'

/** The tables of a database whose calls are synchronous, such as SQLite. A call that fails throws. */
export interface SyncTables {
  has(table: Table, key: string): boolean
  get(table: Table, key: string): StoreValue | undefined
  keys(table: Table, range: KeyRange): readonly string[]
  values(table: Table, range: KeyRange): readonly StoreValue[]
  put(table: Table, key: string, value: StoreValue): void
  delete(table: Table, key: string | KeySpan): void
}

/**
 * Runs `body` over `tables` and resolves with its result: the caller then commits the writes. Rejects with the error
 * that `body` throws, with the first error of a call, or as `aborted` does: the caller then rolls the writes back.
 */
export async function runBody<T>(
  tables: SyncTables,
  options: TransactionOptions,
  body: (tx: StoreTransaction) => T | Promise<T>,
  aborted: Promise<never>,
): Promise<T> {
  const tx = new SyncTransaction(tables, options)
  try {
    const result = await Promise.race([body(tx), aborted])
    if (tx.failure) throw tx.failure.error
    return result
  } finally {
    tx.end()
  }
}

class SyncTransaction implements StoreTransaction {
  /** The first error; later calls throw it again. */
  failure: { readonly error: unknown } | undefined
  readonly #tables: SyncTables
  readonly #options: TransactionOptions
  #hasEnded = false

  constructor(tables: SyncTables, options: TransactionOptions) {
    this.#tables = tables
    this.#options = options
  }

  end(): void {
    this.#hasEnded = true
  }

  async get(table: Table, key: string): Promise<StoreValue | undefined> {
    return this.#call(table, (tables) => tables.get(table, key))
  }

  async keys(table: Table, range: KeyRange = {}): Promise<readonly string[]> {
    return this.#call(table, (tables) => tables.keys(table, range))
  }

  async values(table: Table, range: KeyRange = {}): Promise<readonly StoreValue[]> {
    return this.#call(table, (tables) => tables.values(table, range))
  }

  put(table: Table, key: string, value: StoreValue): void {
    this.#write(table, (tables) => tables.put(table, key, value))
  }

  add(table: Table, key: string, value: StoreValue): void {
    this.#write(table, (tables) => {
      if (tables.has(table, key)) {
        throw new StorageError('fenced', `Another client has already written the key ${key}.`)
      }
      tables.put(table, key, value)
    })
  }

  delete(table: Table, key: string | KeySpan): void {
    this.#write(table, (tables) => tables.delete(table, key))
  }

  #write(table: Table, change: (tables: SyncTables) => void): void {
    try {
      this.#call(table, (tables) => {
        if (this.#options.mode === 'read') {
          throw new StorageError('aborted', 'This transaction may only read.')
        }
        change(tables)
      })
    } catch {
      // The promise of the transaction rejects with this error.
    }
  }

  /** After an error, do nothing more: SQLite may have rolled back by itself and would keep later writes. */
  #call<T>(table: Table, call: (tables: SyncTables) => T): T {
    if (this.failure) throw this.failure.error
    try {
      if (this.#hasEnded) throw new StorageError('aborted', 'This transaction has ended.')
      if (this.#options.tables.includes(table)) return call(this.#tables)
      throw new StorageError('aborted', `This transaction does not cover the table ${table}.`)
    } catch (error) {
      this.failure = { error }
      throw error
    }
  }
}
