import type { LiveQuery, Status, SyncClient } from 'instep'
import { useCallback, useLayoutEffect, useReducer, useSyncExternalStore } from 'react'

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

/** Renders anew after each change of a query, for reading its `length` and a `slice` of it: never all of its rows. */
export function useChanges<R>(query: LiveQuery<R>): void {
  const [, render] = useReducer((times: number) => times + 1, 0)
  useLayoutEffect(() => query.subscribe(render), [query])
}
