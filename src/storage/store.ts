import type { Unsubscribe } from '../base/emitter.ts'
import type { StorageError } from '../base/errors.ts'

/**
 * A small transactional store of keys and values, in a few fixed tables. What the database keeps is written once,
 * over this; each engine is an implementation of it, and `storeContract` says what every one must do.
 *
 * Guarantees:
 * - A transaction happens whole or not at all, also when the process dies. Its promise resolves only once the engine
 *   says that it is complete, never when a request of it succeeded; any throw inside aborts it.
 * - Write transactions that share a table run one after another. A read transaction sees one state throughout.
 * - Within a transaction, reads and writes happen in the order of their calls, awaited or not, and reads are answered
 *   in that order.
 * - A value comes back equal and as a copy: changing what was put, or what was got, changes nothing stored.
 * - Keys are ordered by code units. They are made of ASCII, so that every engine agrees.
 */
export interface Store {
  /** Whether what is written outlives the process. */
  readonly kind: 'durable' | 'memory'
  /** Opens the database `name`, made where there is none. Rejects with a StorageError. */
  open(name: string): Promise<StoreConnection>
  /** Deletes the database `name`, if there is one; its connections are closed first. Rejects with a StorageError. */
  destroy(name: string): Promise<void>
}

export const tables = ['meta', 'pages', 'journal', 'outbox'] as const

export type Table = (typeof tables)[number]

/** What can be stored: JSON. */
export type StoreValue =
  | null
  | boolean
  | number
  | string
  | readonly StoreValue[]
  | { readonly [name: string]: StoreValue | undefined }

export interface StoreConnection {
  /**
   * Runs `body` over the named tables. `body` awaits nothing but the transaction's own reads, else the transaction
   * may complete under it, and may be run once more, from its beginning. One that returns `undefined`, and no promise,
   * has asked for all that it wants: the engine may commit that at once. What it returns comes back once the
   * transaction is complete; what it throws comes back after the abort. Rejects with a StorageError where the engine
   * fails; of code `closed` where the connection was closed, `retryable` unless somebody meant that: the client then
   * opens another.
   */
  transaction<T>(options: TransactionOptions, body: (tx: StoreTransaction) => T | Promise<T>): Promise<T>
  /** Ends the connection; transactions under way still end. Safe to call again. */
  close(): void
  /**
   * Tells once when the engine closed the connection by itself, with what its transactions are refused with from then on:
   * `retryable` where site data was cleared, and not where somebody deletes the database or opens a newer version.
   */
  onLost(listener: (failure: StorageError) => void): Unsubscribe
}

export interface TransactionOptions {
  readonly tables: readonly Table[]
  readonly mode: 'read' | 'write'
  /** `strict`: complete means flushed to the disk. @default 'relaxed' */
  readonly durability?: 'relaxed' | 'strict'
  /** Aborts the transaction: its reads reject from then on, and its promise with a StorageError of code `aborted`. */
  readonly signal?: AbortSignal
}

/** Reads reject and never throw; so what was asked side by side with one that fails is not left unheard. */
export interface StoreTransaction {
  /** The value of `key`; `undefined` where there is none. */
  get(table: Table, key: string): Promise<StoreValue | undefined>
  /** The keys in `range`, in order. */
  keys(table: Table, range?: KeyRange): Promise<readonly string[]>
  /** The values in `range`, in the order of their keys. */
  values(table: Table, range?: KeyRange): Promise<readonly StoreValue[]>
  /** Stores `value`. Never throws: a failure aborts the transaction, and comes back from it. */
  put(table: Table, key: string, value: StoreValue): void
  /** Stores `value` where `key` has none; else it fails as `put` does, with a StorageError of code `fenced`. */
  add(table: Table, key: string, value: StoreValue): void
  /** Removes one key, or all in a span. Fails as `put` does. */
  delete(table: Table, key: string | KeySpan): void
}

/** All keys, or those from `from` (included) to `to` (not included). */
export interface KeySpan {
  readonly from?: string
  readonly to?: string
}

export interface KeyRange extends KeySpan {
  /** Descending, from the end of the span. */
  readonly reverse?: boolean
  readonly limit?: number
}
