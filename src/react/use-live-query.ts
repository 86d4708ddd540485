import { useMemo } from 'react'
import type { SyncClient } from '../client/sync-client.ts'
import { checkQuery, type DataRecord, type QuerySpec } from '../client/types.ts'
import { endOf } from '../engine/status.ts'
import { useClient } from './client-context.ts'
import { noResult, type QueryResult, readResult } from './query-result.ts'
import { startForProviders } from './running.ts'
import { Source, useSource } from './source.ts'

/**
 * Returns the result of a query, and renders again when the result changes. `spec` is compared by content, its `filter`
 * by reference. Throws a ConfigurationError that names the wrong part of `spec`.
 */
export function useLiveQuery(type: string, spec: QuerySpec = {}): QueryResult<DataRecord> {
  const client = useClient()
  // Check before comparing: `textOf` may return the same text for a wrong spec as for the previous, valid one.
  checkQuery(spec)
  // A spec that is written in a component is a new object at each render, with the same content.
  const text = textOf(spec)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `text` and the filter are all of `spec`.
  const source = useMemo(() => querySource(client, type, spec), [client, type, text, spec.filter])
  return useSource<QueryResult<DataRecord>>(source, noResult)
}

/**
 * As `useLiveQuery`, but suspends until there is data. On the server, the hook does not suspend and returns an empty
 * result. Throws a ClosedError if the client is closed before there is data.
 */
export function useSuspenseQuery(type: string, spec?: QuerySpec): QueryResult<DataRecord> {
  const client = useClient()
  const result = useLiveQuery(type, spec)
  if (result.status === 'ready' || result === noResult) return result
  const ended = endOf(client.status)
  if (ended) throw ended
  // While the component suspends, React does not mount a provider inside the Suspense, so that provider starts nothing.
  startForProviders(client)
  throw readiness(client, type)
}

/**
 * The content of `spec` except its filter. Tags values, since JSON has one text for several of them, such as null and
 * NaN.
 */
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

/** One promise for all components that wait for the records of a type. */
function readiness(client: SyncClient, type: string): Promise<void> {
  const byType = waiting.get(client) ?? new Map<string, Promise<void>>()
  const ready = byType.get(type) ?? client.load(type)
  waiting.set(client, byType.set(type, ready))
  return ready
}
