import type { Unsubscribe } from '../base/emitter.ts'
import type { OutboxRecord } from '../persistence/outbox.ts'
import type { Mutator } from './draft.ts'
import type { Transaction } from './transaction.ts'
import type { TransactionState } from './transaction-state.ts'

export interface MutateOptions {
  /**
   * The transactions that this one requires: if one of them is rejected or undone, so is this one. It always requires
   * those that add a record which it changes. @default none but these
   */
  readonly requires?: readonly Transaction[] | undefined
  /**
   * Adds the writes to the newest transaction, which `mutate` then returns, if its write to the disk has not begun, it
   * has the same `coalesce`, `group` and `label`, and both have at most 1 000 ops together.
   */
  readonly coalesce?: string | undefined
  /** A name to show to the user, in a list of rejected transactions or of steps to undo. */
  readonly label?: string | undefined
  /** Consecutive transactions of the same group are undone in one step. */
  readonly group?: string | undefined
}

/** Returns the function that writes the replacement of a rejected transaction; `undefined` leaves it in the outbox. */
export type Merge = (rejected: Transaction) => ((mutator: Mutator) => void) | undefined

/** All transactions of an outbox, as plain data: for a support request, or to carry them elsewhere by hand. */
export interface ExportedOutbox {
  /** The pending and the rejected transactions. */
  readonly transactions: readonly OutboxRecord[]
  /**
   * The transactions that were written after the user had signed out, for example in a frozen tab. They are never sent.
   */
  readonly failed: readonly OutboxRecord[]
  /** Stored values that cannot be read, as they are stored. */
  readonly unreadable: readonly unknown[]
}

/** The transactions that have not settled, and the rejected ones. The functions need no `this`. */
export interface WriterOutbox {
  list(options?: { readonly state?: TransactionState['name'] | undefined }): readonly Transaction[]
  get(id: string): Transaction | undefined
  /** Calls `listener` when a transaction is added or removed, its state changes, or `canUndo` or `canRedo` changes. */
  subscribe(listener: () => void): Unsubscribe
  retry(id: string, edit?: (mutator: Mutator) => unknown): Transaction
  discard(id: string): Promise<void>
  export(): Promise<ExportedOutbox>
}
