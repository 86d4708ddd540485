import type { ReactElement } from 'react'
import type { SyncClient } from '../client/sync-client.ts'
import type { NameOf, QuerySpec, RecordFor } from '../client/types.ts'
import type { ModelDefinitions, Models } from '../models/models.ts'
import type { DefinitionsOf } from '../models/record-of.ts'
import { SyncProvider, type SyncProviderProps, useClient } from './client-context.ts'
import type { QueryResult } from './query-result.ts'
import { useLiveQuery, useSuspenseQuery } from './use-live-query.ts'
import { usePending, useTransactionState } from './use-pending.ts'
import { useRecord } from './use-record.ts'
import { useSyncStatus } from './use-sync-status.ts'
import { useUndo } from './use-undo.ts'

/** The hooks, typed by an application's models. */
export interface Hooks<M extends ModelDefinitions> {
  SyncProvider(props: SyncProviderProps<M>): ReactElement
  useClient(): SyncClient<M>
  useLiveQuery<T extends NameOf<M>>(type: T, spec?: QuerySpec<RecordFor<M, T>>): QueryResult<RecordFor<M, T>>
  useSuspenseQuery<T extends NameOf<M>>(
    type: T,
    spec?: QuerySpec<RecordFor<M, T>>,
  ): QueryResult<RecordFor<M, T>>
  useRecord<T extends NameOf<M>>(type: T, id: string | null | undefined): RecordFor<M, T> | undefined
  readonly useSyncStatus: typeof useSyncStatus
  readonly usePending: typeof usePending
  readonly useTransactionState: typeof useTransactionState
  readonly useUndo: typeof useUndo
}

/**
 * Returns the hooks of this module, typed by models. `M`: the type of the argument or of the result of `defineModels`.
 * Typed and untyped hooks share one context.
 *
 * @example
 * export const { SyncProvider, useLiveQuery, useRecord } = createHooks<typeof models>()
 */
export function createHooks<M extends ModelDefinitions | Models>(): Hooks<DefinitionsOf<M>> {
  // Models exist only as types here: the functions are the same.
  return hooks as unknown as Hooks<DefinitionsOf<M>>
}

const hooks = {
  SyncProvider,
  useClient,
  useLiveQuery,
  useSuspenseQuery,
  useRecord,
  useSyncStatus,
  usePending,
  useTransactionState,
  useUndo,
}
