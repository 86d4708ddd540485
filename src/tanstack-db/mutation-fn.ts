import { ConfigurationError } from '../base/errors.ts'
import type { SyncClient } from '../client/sync-client.ts'
import type { DataRecord, TypedMutator } from '../client/types.ts'
import type { ModelDefinitions } from '../models/models.ts'
import type { Fields } from '../mutations/draft.ts'
import { isObject } from '../protocol/json.ts'

/** The `utils` of a collection from `instepCollectionOptions`. */
export interface InstepUtils {
  readonly client: () => SyncClient
  /** Returns the type of the records. */
  readonly type: () => string
  readonly [name: string]: () => unknown
}

/** The part of a TanStack DB transaction that is used here. */
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
 * Writes a TanStack DB transaction, which may span several collections, as one transaction of the client. Resolves when
 * the client's transaction is durable: stored on disk and about to be sent. Rejects with what `client.mutate` throws,
 * and with a StorageError of code `signed_out` if the user has signed out meanwhile; nothing has changed then. The
 * response of the server comes later: see `client.outbox`.
 *
 * The client's transaction gets the `label` and the `group` of the `metadata` of the first change or, without these, of
 * the `metadata` of the TanStack DB transaction. Rejects with a ConfigurationError for collections of more than one
 * client.
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
  if (!client) return
  if (others.length > 0) {
    throw new ConfigurationError(
      'client',
      'The transaction changes records of more than one SyncClient; use a separate transaction for each client.',
    )
  }
  const { label, group } = { ...metadata, ...fieldsOf(mutations[0]?.metadata) }
  const body = (m: TypedMutator<ModelDefinitions>) => {
    for (const mutation of mutations) write(m, mutation)
  }
  // The client shows the writes at once. Wait until they are stored, too.
  await client.mutate(body, { label: textOf(label), group: textOf(group) }).durable
}

function write(m: TypedMutator<ModelDefinitions>, mutation: CollectionMutation): void {
  const t = utilsOf(mutation).type()
  const { type, key: id, modified } = mutation
  const changes = ownFields({ ...mutation.changes })
  if (type === 'insert') m.insert(t, ownFields({ ...modified }))
  else if (type === 'delete') m.delete(t, id)
  else if (m.get(t, id) && Object.values(changes).includes(undefined)) {
    // `update` cannot remove a field: put the record without the field.
    m.put(t, { ...m.get(t, id), ...changes, id })
  } else m.update(t, id, changes as Partial<DataRecord>)
}

function utilsOf({ collection }: CollectionMutation): InstepUtils {
  const { utils } = collection
  if (utils.client && utils.type) return utils as InstepUtils
  const message = `The collection ${collection.id} has no client: create it with \`instepCollectionOptions\`.`
  throw new ConfigurationError('collection', message)
}

/** Removes the fields that TanStack DB adds to the rows of a collection. */
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
