import { useCallback, useMemo, useSyncExternalStore } from 'react'
import type { SyncClient } from '../client/sync-client.ts'
import type { Transaction } from '../mutations/transaction.ts'
import { useClient } from './client-context.ts'
import { type Reading, Source, useSource } from './source.ts'

/** The transactions that have not settled. The same object until one is added or removed, or changes its state. */
export interface PendingWrites {
  /** The transactions that are not synced yet, in the order in which they were made. */
  readonly pending: readonly Transaction[]
  /** The transactions that the server refused. They stay until they are retried or discarded. */
  readonly rejected: readonly Transaction[]
}

const nothing: PendingWrites = Object.freeze({ pending: Object.freeze([]), rejected: Object.freeze([]) })

/**
 * Returns the pending and the rejected transactions, and renders again when they change: for a list of rejected edits,
 * or marks on changed records. For their numbers only, `useSyncStatus(({ writes }) => writes)` costs less.
 */
export function usePending(): PendingWrites {
  const client = useClient()
  const source = useMemo(() => pendingSource(client), [client])
  return useSource(source, nothing)
}

/** Returns the state of a transaction, and renders again when the state changes. */
export function useTransactionState(transaction: Transaction): Transaction['state'] {
  const subscribe = useCallback((listener: () => void) => transaction.subscribe(listener), [transaction])
  const read = () => transaction.state
  return useSyncExternalStore(subscribe, read, read)
}

export function pendingSource({ outbox }: SyncClient): Source<PendingWrites> {
  return new Source({ subscribe: (listener) => outbox.subscribe(listener), read: () => readWrites(outbox) })
}

/**
 * Computes the lists when a component reads them: there may be many transactions, and many changes between two reads.
 */
function readWrites(outbox: SyncClient['outbox']): Reading<PendingWrites> {
  let pending: readonly Transaction[] | undefined
  let rejected: readonly Transaction[] | undefined
  /** All transactions and their states at the time of the first read. */
  let read: readonly unknown[] | undefined
  const states = () => outbox.list().flatMap((transaction) => [transaction, transaction.state])
  return {
    value: {
      get pending() {
        read ??= states()
        pending ??= outbox.list().filter(({ state }) => state !== 'rejected')
        return pending
      },
      get rejected() {
        read ??= states()
        rejected ??= outbox.list({ state: 'rejected' })
        return rejected
      },
    },
    isCurrent() {
      const now = states()
      return !read || (read.length === now.length && read.every((item, index) => item === now[index]))
    },
  }
}
