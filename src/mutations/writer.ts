import type { Unsubscribe } from '../base/emitter.ts'
import type { OutboxRecord } from '../persistence/outbox.ts'
import type { Mutator } from './draft.ts'
import type { Transaction } from './transaction.ts'
import type { TransactionState } from './transaction-state.ts'

export interface MutateOptions {
  /** It happens only if these do. @default those that add a record which it changes */
  readonly requires?: readonly Transaction[] | undefined
  /** It is joined with the last one of this key, where that was not sent yet and nothing builds on it. */
  readonly coalesce?: string | undefined
  /** What it is called, in an inbox or a list for undoing. */
  readonly label?: string | undefined
  /** Transactions of the same group that follow each other are undone in one step. */
  readonly group?: string | undefined
}

/** Gives what is to be written in place of a rejected transaction; nothing leaves it in the outbox. */
export type Merge = (rejected: Transaction) => ((mutator: Mutator) => void) | undefined

/** Everything in an outbox, as plain data: for a support bundle, or for carrying it elsewhere by hand. */
export interface ExportedOutbox {
  readonly transactions: readonly OutboxRecord[]
  /** What cannot be read, as it is stored. */
  readonly unreadable: readonly unknown[]
}

/** What the user changed that has not settled. Its functions need no `this`. */
export interface WriterOutbox {
  list(options?: { readonly state?: TransactionState['name'] | undefined }): readonly Transaction[]
  get(id: string): Transaction | undefined
  /** Calls `listener` when a transaction comes, goes, or is in another state, or what can be undone is another. */
  subscribe(listener: () => void): Unsubscribe
  retry(id: string, edit?: (mutator: Mutator) => unknown): Transaction
  discard(id: string): Promise<void>
  export(): Promise<ExportedOutbox>
}
