import { ConfigurationError } from '../base/errors.ts'
import type { SyncClient } from '../client/sync-client.ts'
import type { DataRecord, TypedMutator } from '../client/types.ts'
import type { ModelDefinitions } from '../models/models.ts'
import type { Fields } from '../mutations/draft.ts'
import { isObject } from '../protocol/json.ts'

/** What a collection over a client has in `utils`. */
export interface InstepUtils {
  readonly client: () => SyncClient
  /** The type of its records. */
  readonly type: () => string
  readonly [name: string]: () => unknown
}

/** What is read of a transaction of TanStack DB. */
export interface CollectionTransaction {
  readonly metadata: Fields
  readonly mutations: readonly CollectionMutation[]
}

interface CollectionMutation {
  readonly type: 'insert' | 'update' | 'delete'
  readonly key: string
  readonly modified: object
  readonly changes: object
  readonly metadata: unknown
  readonly collection: { readonly id: string; readonly utils: Fields }
}

/**
 * Writes what a transaction of TanStack DB holds as one transaction of the client, also where it touches several
 * collections. Resolves when that is durable: on disk, and to be sent. Rejects with what `client.mutate` throws, and
 * with the StorageError for which it was taken back; nothing has changed then. What the server says comes later, and is
 * in `client.outbox`.
 *
 * The `label` and the `group` in the `metadata` of its first change, or else in its own, are those of the client's
 * transaction.
 *
 * @example
 * const tx = createTransaction({ mutationFn: instepMutationFn })
 * tx.mutate(() => {
 *   issues.delete('i1')
 *   projects.update('p1', (draft) => { draft.open -= 1 })
 * })
 */
export async function instepMutationFn({
  transaction,
}: {
  readonly transaction: CollectionTransaction
}): Promise<void> {
  const { mutations, metadata } = transaction
  const [client, ...others] = new Set(mutations.map((mutation) => utilsOf(mutation).client()))
  if (!client || others.length > 0) {
    throw new ConfigurationError('client', 'A transaction holds records of two clients; make one for each.')
  }
  const { label, group } = { ...metadata, ...fieldsOf(mutations[0]?.metadata) }
  const body = (m: TypedMutator<ModelDefinitions>) => {
    for (const mutation of mutations) write(m, mutation)
  }
  // The client shows it from here on; it must also stay.
  await client.mutate(body, { label: textOf(label), group: textOf(group) }).durable
}

function write(m: TypedMutator<ModelDefinitions>, mutation: CollectionMutation): void {
  const t = utilsOf(mutation).type()
  const { type, key: id, modified } = mutation
  const changes = ownFields({ ...mutation.changes })
  if (type === 'insert') m.insert(t, ownFields({ ...modified }))
  else if (type === 'delete') m.delete(t, id)
  else if (m.get(t, id) && Object.values(changes).includes(undefined)) {
    // A field is removed by putting the record without it.
    m.put(t, { ...m.get(t, id), ...changes, id })
  } else m.update(t, id, changes as Partial<DataRecord>)
}

function utilsOf({ collection }: CollectionMutation): InstepUtils {
  const { utils } = collection
  if (utils.client && utils.type) return utils as InstepUtils
  const message = `The collection ${collection.id} is not over a client; make it with \`instepCollectionOptions\`.`
  throw new ConfigurationError('collection', message)
}

/** A row that was read from a collection carries fields of TanStack DB's. */
function ownFields({
  $hasPendingWrites: _,
  $synced: __,
  $origin: ___,
  $key: ____,
  $collectionId: _____,
  ...fields
}: Fields): Fields {
  return fields
}

function fieldsOf(metadata: unknown): Fields {
  return isObject(metadata) ? metadata : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
