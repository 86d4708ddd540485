import { useCallback, useMemo, useSyncExternalStore } from 'react'
import type { SyncClient } from '../client/sync-client.ts'
import type { Transaction } from '../mutations/transaction.ts'
import { useClient } from './client-context.ts'
import { type Reading, Source, useSource } from './source.ts'

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

export function pendingSource({ outbox }: SyncClient): Source<PendingWrites> {
  return new Source({ subscribe: (listener) => outbox.subscribe(listener), read: () => readWrites(outbox) })
}

/** Sorts them when they are read: there may be many, and many changes before anybody looks. */
function readWrites(outbox: SyncClient['outbox']): Reading<PendingWrites> {
  let pending: readonly Transaction[] | undefined
  let rejected: readonly Transaction[] | undefined
  /** All of them with their states, as they were when they were first read. */
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
      return !read || (read.length === now.length && read.every((one, index) => one === now[index]))
    },
  }
}
