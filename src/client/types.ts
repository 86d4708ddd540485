import type { ModelDefinitions, Models } from '../models/models.ts'
import type { DefinitionsOf, FieldsOf, InputFor, RecordOf, TypeName } from '../models/record-of.ts'
import type { Fields, WriteOptions } from '../mutations/draft.ts'
import type { Transaction } from '../mutations/transaction.ts'
import type { TransactionState } from '../mutations/transaction-state.ts'
import type { ExportedOutbox } from '../mutations/writer.ts'
import type { DataRecord } from '../records/record.ts'

export type { LiveQuery } from '../records/live-query.ts'
// For the folders above the client (react, tanstack-db), which must not import from the replica.
export { readQuery as checkQuery } from '../records/query.ts'
export type { Cursor, QuerySpec } from '../records/query-spec.ts'
export type { DataRecord } from '../records/record.ts'

/** The names of the declared types, or any string without models. */
export type NameOf<M extends ModelDefinitions | Models> = TypeName<M>

/** A record of the type `T`, as its model declares it, or with unknown fields without a typed model. */
export type RecordFor<M extends ModelDefinitions | Models, T extends NameOf<M>> =
  unknown extends InputFor<M, T> ? DataRecord : RecordOf<M, T>

/** The argument to insert a record of the type `T`: its fields, and an id unless the client is to create one. */
export type NewRecord<M extends ModelDefinitions | Models, T extends NameOf<M>> =
  unknown extends InputFor<M, T> ? Fields : FieldsOf<M, T> & { readonly id?: string }

/** The argument to update a record of the type `T`: any of its fields; for a union, of one shape. */
type ChangedFields<M extends ModelDefinitions, T extends NameOf<M>> = PartOf<RecordFor<M, T>>

// A conditional type, so that TypeScript distributes it over a union of shapes.
type PartOf<R> = R extends unknown
  ? { readonly [Field in keyof R as Field extends 'id' ? never : Field]?: R[Field] }
  : never

/**
 * The operations of a transaction, in the order of the calls. Each call sees the writes of the calls before. A field that
 * is `undefined` is left out.
 */
export interface TypedMutator<out M extends ModelDefinitions> {
  /** The record as shown, with the writes of this transaction; `undefined` if there is none. */
  get<T extends NameOf<M>>(t: T, id: string): RecordFor<M, T> | undefined
  /** Adds a record and returns its id: `record.id`, or a new UUIDv7. Throws if a record with that id exists. */
  insert<T extends NameOf<M>>(t: T, record: NewRecord<M, T>): string
  /**
   * Replaces the listed fields and keeps the others, even if those break the model already. Throws if there is no such
   * record.
   */
  update<T extends NameOf<M>>(t: T, id: string, fields: ChangedFields<M, T>, options?: WriteOptions): void
  /** Replaces the whole record, or adds it if there is none. Fields that `record` leaves out are removed. */
  put<T extends NameOf<M>>(
    t: T,
    record: NewRecord<M, T> & { readonly id: string },
    options?: WriteOptions,
  ): void
  /** Removes the record. Does nothing if there is no such record. */
  delete<T extends NameOf<M>>(t: T, id: string, options?: WriteOptions): void
}

/** Returns the function that writes the replacement of a rejected transaction; `undefined` leaves it in the outbox. */
export type Merge<M extends ModelDefinitions | Models = ModelDefinitions> = (
  rejected: Transaction,
) => ((mutator: MergeMutator<M>) => void) | undefined

/** A mutator that is typed by the models, and also accepts a type name that is known only at run time. */
export type MergeMutator<M extends ModelDefinitions | Models> = TypedMutator<DefinitionsOf<M>> &
  UntypedMutator<NameOf<M>>

/**
 * Accepts a type name that is only known at run time, a `string`. A literal name is an error here: `TypedMutator`
 * accepts the declared ones.
 */
interface UntypedMutator<out Name extends string> {
  get<T extends string>(t: T & AnyName<Name | T>, id: string): DataRecord | undefined
  insert<T extends string>(t: T & AnyName<Name | T>, record: Fields): string
  update<T extends string>(t: T & AnyName<Name | T>, id: string, fields: Fields, options?: WriteOptions): void
  put<T extends string>(
    t: T & AnyName<Name | T>,
    record: Fields & { readonly id: string },
    options?: WriteOptions,
  ): void
  delete<T extends string>(t: T & AnyName<Name | T>, id: string, options?: WriteOptions): void
}

/** `string`, or `never` if `Names` is a union of literals. */
type AnyName<Names extends string> = string extends Names ? string : never

/**
 * The result of a synchronous function: any type but a promise. A mutator cannot be used after its function returns.
 */
export type NotAsync<Result> = Result extends PromiseLike<unknown> ? never : Result

/** The transactions that have not settled, and the rejected ones. */
export interface OutboxView<out M extends ModelDefinitions> {
  /** All transactions, or those in `state`, in the order in which they were made. */
  list(options?: { readonly state?: TransactionState['name'] | undefined }): readonly Transaction[]
  get(id: string): Transaction | undefined
  /**
   * Calls `listener` when a transaction is added or removed, its state changes, or `canUndo` or `canRedo` changes. Call
   * the returned function to stop.
   */
  subscribe(listener: () => void): () => void
  /**
   * Replaces a rejected transaction by a new one, and returns the new one. Its writes are those of `edit`. Without
   * `edit`, they are the same as before, but an update of a record that was deleted meanwhile puts the whole record back.
   * The new transaction requires the pending ones that the rejected one required, or their replacements. If another tab
   * has decided about the rejected one meanwhile, the new one ends as `cancelled`.
   *
   * Throws as `mutate` does, and a ConfigurationError if there is no rejected transaction with this id, or not any more.
   * A listener of `rejected` that retries at once gets the next `rejected` later each time, up to 8 s. The sixth such
   * `retry` in a row throws a ConfigurationError.
   */
  retry<R>(id: string, edit?: (mutator: TypedMutator<M>) => NotAsync<R>): Transaction
  /**
   * Drops a rejected transaction. Resolves when it is removed from the disk. Rejects with a ConfigurationError if there
   * is no rejected transaction with this id, or not any more; with a StorageError if the disk fails, and the transaction
   * then stays; or with a ClosedError.
   */
  discard(id: string): Promise<void>
  /**
   * Everything in the outbox, as plain data, including the values that the user wrote. Rejects with a ClosedError if the
   * client is closed before the disk is read.
   */
  export(): Promise<ExportedOutbox>
}

/** A record as the server last sent it. */
export interface ConfirmedRecord<R> {
  readonly record: R
  /** `undefined` if the server does not number versions. */
  readonly version: number | undefined
}
