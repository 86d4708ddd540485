import type { Unsubscribe } from '../base/emitter.ts'
import type { Environment } from '../base/environment.ts'
import type { StorageError } from '../base/errors.ts'

/**
 * A small transactional store of keys and values, in a few fixed tables. The client's database is written on top of
 * this interface; each storage engine is an implementation. `storeContract` tests what every implementation must do.
 *
 * Guarantees:
 * - A transaction is atomic, even if the process dies. Its promise resolves only when the engine reports that the
 *   transaction is complete, not when its last request succeeds. Any throw inside aborts the transaction.
 * - Write transactions that share a table run one after another. A read transaction sees one state throughout.
 * - Within a transaction, reads and writes happen in the order of the calls, awaited or not, and reads resolve in that
 *   order.
 * - A value is read back equal and as a copy: changing the value that was put or read changes nothing stored.
 * - Keys are ordered by code units. Keys are ASCII, so that every engine agrees on the order.
 */
export interface Store {
  /** `durable` if written data survives the end of the process. */
  readonly kind: 'durable' | 'memory'
  /**
   * Returns the parts that all clients of the database `name` share. They may be parts of `environment`, that of one of
   * the clients. With `locks`, one client leads; with a `BroadcastChannel`, the others follow it. Without this method,
   * the clients of a database do not know of each other.
   */
  shared?(name: string, environment: Environment): SharedParts
  /** Opens the database `name`, and creates it if it does not exist. Rejects with a StorageError. */
  open(name: string): Promise<StoreConnection>
  /** Resolves with the names of the databases. Without this method, no client looks for those of other addresses. */
  names?(): Promise<readonly string[]>
  /** Closes all connections to the database `name` and deletes it, if it exists. Rejects with a StorageError. */
  destroy(name: string): Promise<void>
}

/** The parts of an environment that clients may share. */
export type SharedParts = Partial<
  Pick<Environment, 'locks' | 'BroadcastChannel' | 'storageManager' | 'localStorage'>
>

export const tables = ['meta', 'pages', 'journal', 'outbox'] as const

export type Table = (typeof tables)[number]

/** A value that can be stored: JSON. */
export type StoreValue =
  | null
  | boolean
  | number
  | string
  | readonly StoreValue[]
  | { readonly [name: string]: StoreValue | undefined }

export interface StoreConnection {
  /**
   * Runs `body` in one transaction over the named tables. Resolves with the result of `body` when the transaction is
   * complete. If `body` throws, aborts the transaction, and then rejects with the same error.
   *
   * `body` must await nothing but the reads of its transaction: otherwise the transaction may complete before `body`
   * ends. The store may run `body` a second time from the beginning. If `body` returns `undefined`, and not a promise,
   * it has made all its calls, and the engine may commit at once.
   *
   * Rejects with a StorageError if the engine fails. Its code is `closed` if the connection is closed. The error is
   * `retryable` if the browser closed the connection by itself; the client then opens another one.
   */
  transaction<T>(options: TransactionOptions, body: (tx: StoreTransaction) => T | Promise<T>): Promise<T>
  /** Closes the connection. Running transactions still complete. Further calls do nothing. */
  close(): void
  /**
   * Calls `listener` at most once: when the engine closes the connection by itself. Later transactions reject with the
   * same `failure`. It is `retryable` if site data was cleared, and not if another tab deletes the database or opens a
   * newer version. Returns a function that removes the listener.
   */
  onLost(listener: (failure: StorageError) => void): Unsubscribe
}

export interface TransactionOptions {
  readonly tables: readonly Table[]
  readonly mode: 'read' | 'write'
  /** `strict`: the transaction is complete only when it is flushed to the disk. @default 'relaxed' */
  readonly durability?: 'relaxed' | 'strict'
  /** Aborts the transaction: later reads reject, and its promise rejects with a StorageError of code `aborted`. */
  readonly signal?: AbortSignal
}

/**
 * The calls inside a transaction. Reads reject and never throw, so that a caller of several reads can await them
 * together.
 */
export interface StoreTransaction {
  /** Resolves with the value of `key`, or with `undefined` if there is none. */
  get(table: Table, key: string): Promise<StoreValue | undefined>
  /** Resolves with the keys in `range`, in order. */
  keys(table: Table, range?: KeyRange): Promise<readonly string[]>
  /** Resolves with the values in `range`, in the order of their keys. */
  values(table: Table, range?: KeyRange): Promise<readonly StoreValue[]>
  /** Stores `value`. Never throws: a failure aborts the transaction, and the transaction's promise rejects with it. */
  put(table: Table, key: string, value: StoreValue): void
  /** Stores `value` if `key` has no value. Otherwise, it fails as `put` does, with a StorageError of code `fenced`. */
  add(table: Table, key: string, value: StoreValue): void
  /** Removes one key, or all keys in a span. Fails as `put` does. */
  delete(table: Table, key: string | KeySpan): void
}

/** All keys, or the keys from `from` (included) to `to` (not included). */
export interface KeySpan {
  readonly from?: string
  readonly to?: string
}

export interface KeyRange extends KeySpan {
  /** In descending order, from the end of the span. */
  readonly reverse?: boolean
  readonly limit?: number
}
