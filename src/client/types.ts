import type { ModelDefinitions, Models } from '../models/models.ts'
import type { DefinitionsOf, FieldsOf, InputFor, RecordOf, TypeName } from '../models/record-of.ts'
import type { Fields, WriteOptions } from '../mutations/draft.ts'
import type { Transaction } from '../mutations/transaction.ts'
import type { TransactionState } from '../mutations/transaction-state.ts'
import type { ExportedOutbox } from '../mutations/writer.ts'
import type { DataRecord } from '../records/record.ts'

export type { LiveQuery } from '../records/live-query.ts'
// What the rooms above read and ask with; they do not reach into the replica.
export { readQuery as checkQuery } from '../records/query.ts'
export type { Cursor, QuerySpec } from '../records/query-spec.ts'
export type { DataRecord } from '../records/record.ts'

/** The names of the types: those that the models declare, or any. */
export type NameOf<M extends ModelDefinitions | Models> = TypeName<M>

/** A record of the type `T`: by its model, where there is one that says what it takes. */
export type RecordFor<M extends ModelDefinitions | Models, T extends NameOf<M>> =
  unknown extends InputFor<M, T> ? DataRecord : RecordOf<M, T>

/** What is given to add a record of the type `T`: its fields, and an id where it is not to be made. */
export type NewRecord<M extends ModelDefinitions | Models, T extends NameOf<M>> =
  unknown extends InputFor<M, T> ? Fields : FieldsOf<M, T> & { readonly id?: string }

/** What is given to update a record of the type `T`: any of its fields, of one shape where its model is a union. */
type ChangedFields<M extends ModelDefinitions, T extends NameOf<M>> = PartOf<RecordFor<M, T>>

// Distributes over a union of shapes.
type PartOf<R> = R extends unknown
  ? { readonly [Field in keyof R as Field extends 'id' ? never : Field]?: R[Field] }
  : never

/** What a transaction does, in order; each reads what the ones before it wrote. */
export interface TypedMutator<out M extends ModelDefinitions> {
  /** The record as it is shown, and as this transaction has made it. */
  get<T extends NameOf<M>>(t: T, id: string): RecordFor<M, T> | undefined
  /** Adds a record, and gives its id: the given one, or a new UUIDv7. Throws where there is a record of that id. */
  insert<T extends NameOf<M>>(t: T, record: NewRecord<M, T>): string
  /** Replaces the fields that it lists. Throws where there is no such record. */
  update<T extends NameOf<M>>(t: T, id: string, fields: ChangedFields<M, T>, options?: WriteOptions): void
  /** Makes the record just this, whether it is there or not: also how a field is removed. */
  put<T extends NameOf<M>>(
    t: T,
    record: NewRecord<M, T> & { readonly id: string },
    options?: WriteOptions,
  ): void
  /** Removes the record; where there is none, nothing happens. */
  delete<T extends NameOf<M>>(t: T, id: string, options?: WriteOptions): void
}

/** Gives what is to be written in place of a rejected transaction; nothing leaves it in the outbox. */
export type Merge<M extends ModelDefinitions | Models = ModelDefinitions> = (
  rejected: Transaction,
) => ((mutator: MergeMutator<M>) => void) | undefined

/** A mutator by the models, and for records of which only a transaction says the type. */
export type MergeMutator<M extends ModelDefinitions | Models> = TypedMutator<DefinitionsOf<M>> &
  UntypedMutator<NameOf<M>>

/** Takes what is not known to be one name: where `Name` is one, a wrong one is refused. */
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

/** All texts, unless `Names` is a list of names: then none. */
type AnyName<Names extends string> = string extends Names ? string : never

/** What a function that writes at once may give: anything but a promise, after which it could not write any more. */
export type NotAsync<Result> = Result extends PromiseLike<unknown> ? never : Result

/** The transactions that have not settled in the data yet, and those that were rejected. */
export interface OutboxView<out M extends ModelDefinitions> {
  /** In the order in which they were made; all, or those in one state. */
  list(options?: { readonly state?: TransactionState['name'] | undefined }): readonly Transaction[]
  get(id: string): Transaction | undefined
  /** Calls `listener` when a transaction comes, goes, or is in another state, or what can be undone is another. */
  subscribe(listener: () => void): () => void
  /**
   * Writes a rejected transaction anew, as `edit` does, or as it was; in the latter case a record that somebody deleted
   * meanwhile is put whole. What it gives takes the old one's place. Throws as `mutate` does, and a ConfigurationError
   * where there is no rejected one of this id.
   */
  retry<R>(id: string, edit?: (mutator: TypedMutator<M>) => NotAsync<R>): Transaction
  /**
   * Gives up a rejected transaction. Rejects with a ConfigurationError where there is none of this id, a StorageError or
   * a ClosedError.
   */
  discard(id: string): Promise<void>
  /** Everything in it, as plain data. It holds what the user wrote. */
  export(): Promise<ExportedOutbox>
}

/** A record as the server last sent it. */
export interface ConfirmedRecord<R> {
  readonly record: R
  /** `undefined` if the server does not number versions. */
  readonly version: number | undefined
}
