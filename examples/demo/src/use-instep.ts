import type { LiveQuery, Status, SyncClient } from 'instep'
import { useCallback, useSyncExternalStore } from 'react'

type Client = Pick<SyncClient, 'on' | 'status'>

/** Where a client stands. */
export function useStatus(client: Client): Status {
  const subscribe = useCallback((listener: () => void) => client.on('status', listener), [client])
  return useSyncExternalStore(subscribe, () => client.status)
}

/** The result of a query, as it changes. The query must stay the same from one rendering to the next. */
export function useRows<R>(query: LiveQuery<R>): readonly R[] {
  const subscribe = useCallback((listener: () => void) => query.subscribe(listener), [query])
  return useSyncExternalStore(subscribe, () => query.rows)
}

/** What `read` gives, asked again after each change of the data. */
export function useData<T>(client: Client, read: () => T): T {
  const subscribe = useCallback((listener: () => void) => client.on('change', listener), [client])
  return useSyncExternalStore(subscribe, read)
}
