import { useCallback, useMemo, useSyncExternalStore } from 'react'
import type { SyncClient } from '../client/sync-client.ts'
import type { Transaction } from '../outbox/transaction.ts'
import { useClient } from './client-context.ts'
import { Source, useSource } from './source.ts'

/** The user's changes that have not arrived: the same object until one comes, goes, or is in another state. */
export interface PendingWrites {
  /** On their way, in the order in which they were made. */
  readonly pending: readonly Transaction[]
  /** Refused by the server; they wait to be retried or discarded. */
  readonly rejected: readonly Transaction[]
}

const nothing: PendingWrites = Object.freeze({ pending: Object.freeze([]), rejected: Object.freeze([]) })

/**
 * The user's changes that have not arrived, as they come and go: for an inbox, or marks beside what they touch. Their
 * numbers alone are cheaper: `useSyncStatus(({ writes }) => writes)`.
 */
export function usePending(): PendingWrites {
  const client = useClient()
  const source = useMemo(() => pendingSource(client), [client])
  return useSource(source, nothing)
}

/** The state of a transaction, as it changes. */
export function useTransactionState(transaction: Transaction): Transaction['state'] {
  const subscribe = useCallback((listener: () => void) => transaction.subscribe(listener), [transaction])
  const read = () => transaction.state
  return useSyncExternalStore(subscribe, read, read)
}

/** Sorts them when they are read: there may be many, and many changes before anybody looks. */
class Writes implements PendingWrites {
  readonly #outbox: SyncClient['outbox']
  #pending: readonly Transaction[] | undefined
  #rejected: readonly Transaction[] | undefined
  /** All of them with their states, as they were when they were first read. */
  #read: readonly unknown[] | undefined

  constructor(outbox: SyncClient['outbox']) {
    this.#outbox = outbox
  }

  get pending(): readonly Transaction[] {
    this.#read ??= this.#states()
    this.#pending ??= this.#outbox.list().filter(({ state }) => state !== 'rejected')
    return this.#pending
  }

  get rejected(): readonly Transaction[] {
    this.#read ??= this.#states()
    this.#rejected ??= this.#outbox.list({ state: 'rejected' })
    return this.#rejected
  }

  /** Whether all that was read of it is what there is now. */
  get isCurrent(): boolean {
    const read = this.#read
    if (!read) return true
    const now = this.#states()
    return now.length === read.length && now.every((item, index) => item === read[index])
  }

  #states(): readonly unknown[] {
    return this.#outbox.list().flatMap((transaction) => [transaction, transaction.state])
  }
}

function pendingSource({ outbox }: SyncClient): Source<PendingWrites> {
  return new Source<PendingWrites>({
    subscribe: (listener) => outbox.subscribe(listener),
    read: () => new Writes(outbox),
    isCurrent: (writes) => writes instanceof Writes && writes.isCurrent,
  })
}
