import type { SyncClient } from '../client/sync-client.ts'
import { checkQuery, type NameOf, type QuerySpec, type RecordFor } from '../client/types.ts'
import type { ChangeEvent } from '../engine/events.ts'
import type { ModelDefinitions } from '../models/models.ts'
import { Mirror, type RowWrite } from './mirror.ts'
import { type InstepUtils, instepMutationFn } from './mutation-fn.ts'

export interface InstepCollectionOptions<M extends ModelDefinitions, T extends NameOf<M>> {
  readonly client: SyncClient<M>
  readonly type: T
  /** Selects the records of the collection. @default all records of the type */
  readonly query?: QuerySpec<RecordFor<M, T>> | undefined
}

/** The options of a TanStack DB collection with the records of a client. */
export interface InstepCollectionConfig<R extends { readonly id: string }> {
  readonly getKey: (record: R) => string
  /** The part of TanStack DB's `SyncConfig` that is used here. */
  readonly sync: {
    readonly rowUpdateMode: 'full'
    readonly sync: (collection: {
      readonly begin: () => void
      readonly write: (row: RowWrite<R>) => void
      readonly commit: () => unknown
      readonly markReady: () => void
      readonly markError: (error?: unknown) => void
    }) => () => void
  }
  readonly onInsert: typeof instepMutationFn
  readonly onUpdate: typeof instepMutationFn
  readonly onDelete: typeof instepMutationFn
  readonly utils: InstepUtils
}

/**
 * Returns the options of a TanStack DB collection. The collection has the records that the client shows, including
 * pending changes. Writes to the collection call `client.mutate`. A lazy type is loaded when the collection begins to
 * sync. Throws a ConfigurationError that names the wrong part of `query`.
 *
 * @example
 * const issues = createCollection(instepCollectionOptions({ client, type: 'Issue' }))
 */
export function instepCollectionOptions<M extends ModelDefinitions, T extends NameOf<M>>({
  client,
  type,
  query,
}: InstepCollectionOptions<M, T>): InstepCollectionConfig<RecordFor<M, T>> {
  // Check now: the query is created only when the collection is used.
  if (query) checkQuery(query as QuerySpec<unknown> as QuerySpec)
  return {
    getKey: ({ id }) => id,
    sync: {
      rowUpdateMode: 'full',
      sync: ({ begin, write, commit, markReady, markError }) => {
        const live = client.query(type, query)
        const mirror = new Mirror<RecordFor<M, T>>()
        const show = (writes: readonly RowWrite<RecordFor<M, T>>[]) => {
          if (writes.length === 0) return
          begin()
          for (const each of writes) write(each)
          commit()
        }
        const showAll = () => show(mirror.replace(query ? live.rows : client.all(type)))
        const follow = (event: ChangeEvent) => {
          if (event.kind === 'snapshot') return showAll()
          const changed = event.changes.filter(({ type: t }) => t === type)
          show(changed.flatMap(({ id }) => mirror.set(id, client.get(type, id))))
        }
        const undo = query ? live.subscribe(showAll) : client.on('change', follow)
        showAll()
        const ended = new AbortController()
        if (live.status === 'ready') markReady()
        else client.load(type, { signal: ended.signal }).then(markReady, markError)
        return () => {
          undo()
          ended.abort()
        }
      },
    },
    onInsert: instepMutationFn,
    onUpdate: instepMutationFn,
    onDelete: instepMutationFn,
    // The utils of a collection have no type parameter for models.
    utils: { client: () => client as unknown as SyncClient, type: () => type },
  }
}
