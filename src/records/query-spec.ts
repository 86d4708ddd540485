import type { OrderField } from '../models/collated.ts'
import type { FieldName, Where } from '../models/where.ts'
import type { JsonValue } from '../protocol/json.ts'
import type { DataRecord } from './record.ts'

/** A query as data, over records of the shape `R`. A missing field is treated as `null`. */
export interface QuerySpec<R = DataRecord> {
  readonly where?: Where<R> | undefined
  /**
   * The fields to order by, ascending unless a field has the direction `desc`. Records that are equal in all fields are
   * ordered by `id`, in the direction of the last field; so are the records of a query without `orderBy`. Numbers come
   * before strings, which are ordered by code units or by a `collation`, and strings before booleans. Missing values,
   * `null`, arrays and objects come last in both directions.
   */
  readonly orderBy?: OrderField<FieldName<R>> | readonly OrderTerm<FieldName<R>>[] | undefined
  /** Maximum number of records. @default no limit */
  readonly limit?: number | undefined
  /** The result begins after this place. See `LiveQuery.cursor`. */
  readonly after?: Cursor | undefined
  /**
   * A condition in code. It is called for one record at a time and must depend on nothing but that record. A record for
   * which it throws is left out.
   */
  readonly filter?: ((record: R) => boolean) | undefined
}

export type OrderTerm<Field extends string = string> =
  | OrderField<Field>
  | readonly [field: OrderField<Field>, direction: 'asc' | 'desc']

/** A place in an order: the values of the `orderBy` fields, and the id. A cursor is plain data and can be stored. */
export interface Cursor {
  readonly values: readonly JsonValue[]
  readonly id: string
}
