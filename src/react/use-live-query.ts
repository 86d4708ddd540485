import { useMemo } from 'react'
import { ClosedError } from '../base/errors.ts'
import type { SyncClient } from '../client/sync-client.ts'
import { checkQuery, type DataRecord, type QuerySpec } from '../client/types.ts'
import { useClient } from './client-context.ts'
import { noResult, type QueryResult, readResult } from './query-result.ts'
import { startForProviders } from './running.ts'
import { Source, useSource } from './source.ts'

/**
 * What a query gives, as it changes. A `spec` that says the same is the same; its `filter` is told by reference. Throws
 * a ConfigurationError that names what is wrong with it.
 */
export function useLiveQuery(type: string, spec: QuerySpec = {}): QueryResult<DataRecord> {
  const client = useClient()
  // Of a wrong one, what it says may be the same as of the one before.
  checkQuery(spec)
  // A spec that is written in the component is another object each time; what it says is not.
  const said = textOf(spec)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `said` and the filter are all of `spec`.
  const source = useMemo(() => querySource(client, type, spec), [client, type, said, spec.filter])
  return useSource<QueryResult<DataRecord>>(source, noResult)
}

/**
 * The same, for below a Suspense: it waits until there is data. On the server it does not wait, and gives an empty
 * result. Throws a ClosedError where the client is closed before there is data.
 */
export function useSuspenseQuery(type: string, spec?: QuerySpec): QueryResult<DataRecord> {
  const client = useClient()
  const result = useLiveQuery(type, spec)
  if (result.status === 'ready' || result === noResult) return result
  if (client.status.lifecycle === 'closed') throw new ClosedError()
  // What waits takes a provider below the Suspense with it, which is not mounted and starts nothing.
  startForProviders(client)
  throw readiness(client, type)
}

/** What `spec` says apart from its filter. JSON would say the same of all that it does not have. */
function textOf(spec: QuerySpec): string {
  return JSON.stringify(spec, (_, value: unknown) => {
    if (typeof value === 'string') return `=${value}`
    return typeof value === 'number' || typeof value === 'bigint' ? `${typeof value} ${value}` : value
  })
}

function querySource(client: SyncClient, type: string, spec: QuerySpec) {
  const query = client.query(type, spec)
  return new Source<QueryResult<DataRecord>>({
    subscribe: (listener) => query.subscribe(listener),
    read: () => readResult(query),
  })
}

const waiting = new WeakMap<SyncClient, Map<string, Promise<void>>>()

/** One promise for all who wait for the records of a type. */
function readiness(client: SyncClient, type: string): Promise<void> {
  const byType = waiting.get(client) ?? new Map<string, Promise<void>>()
  const ready = byType.get(type) ?? client.load(type)
  waiting.set(client, byType.set(type, ready))
  return ready
}
