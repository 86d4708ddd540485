import type { JsonValue } from '../protocol/json.ts'
import type { DataRecord } from './record.ts'

/** A query as data, over records of the shape `R`. Fields that are missing count as `null`. */
export interface QuerySpec<R = DataRecord> {
  readonly where?: Where<R> | undefined
  /**
   * Fields to order by, ascending unless it says `desc`. Ties, and a query without an order, go by `id`, in the
   * direction of the last field. Numbers come before strings (by code units), and these before booleans; what is
   * missing, `null`, an array or an object comes last in both directions.
   */
  readonly orderBy?: FieldName<R> | readonly OrderTerm<FieldName<R>>[] | undefined
  readonly limit?: number | undefined
  /** Begins behind this place. */
  readonly after?: Cursor | undefined
  /**
   * A condition that data cannot say. It is asked about one record at a time, and must depend on nothing else. A
   * record for which it throws is left out.
   */
  readonly filter?: ((record: R) => boolean) | undefined
}

export type OrderTerm<Field extends string = string> =
  | Field
  | readonly [field: Field, direction: 'asc' | 'desc']

/**
 * Every field must match. A plain value means equality, an object is a {@link Condition}, and `undefined` is as if it
 * were not there. `and`, `or` and `not` combine, and are never taken for fields.
 */
export type Where<R = DataRecord> = string extends keyof R ? AnyWhere : FieldConditions<R> & Combination<R>

/** What a field must be. All that is listed must hold; `undefined` is as if it were not there. */
export interface Condition<V = JsonValue> {
  /** The same JSON value. `null` is also what is missing. */
  readonly eq?: V | undefined
  readonly ne?: V | undefined
  readonly in?: readonly V[] | undefined
  /** Only a string is above or below a string, and only a number a number: another kind never matches. */
  readonly gt?: Comparable<V> | undefined
  readonly gte?: Comparable<V> | undefined
  readonly lt?: Comparable<V> | undefined
  readonly lte?: Comparable<V> | undefined
  readonly startsWith?: Text<V> | undefined
  /** A part of a string, or an element of an array. */
  readonly contains?: Text<V> | Element<V> | undefined
}

/** A place in an order: the values it orders by, and the id. It is data, and can be kept. */
export interface Cursor {
  readonly values: readonly JsonValue[]
  readonly id: string
}

/** The fields of a record, over all shapes that it may have. */
export type FieldName<R> = R extends unknown ? keyof R & string : never

interface AnyWhere {
  readonly [field: string]: JsonValue | Condition | readonly Where[] | Where | undefined
}

interface Combination<R> {
  readonly and?: readonly Where<R>[] | undefined
  readonly or?: readonly Where<R>[] | undefined
  readonly not?: Where<R> | undefined
}

type FieldConditions<R> = {
  readonly [Field in Exclude<FieldName<R>, keyof Combination<R>>]?:
    | Plain<FieldValue<R, Field>>
    | Condition<FieldValue<R, Field>>
    | undefined
}

/** What a field may hold, with `null` where it may be missing. */
type FieldValue<R, Field extends string> = NullFor<
  R extends { readonly [F in Field]?: infer V } ? V : undefined
>

type NullFor<V> = undefined extends V ? Exclude<V, undefined> | null : V

// An object cannot be said plainly, for it would be taken for a condition.
// A brand makes an object of what is none.
type Plain<V> = V extends string | number | boolean | readonly unknown[] ? V : V extends object ? never : V

type Comparable<V> = V extends string ? string : V extends number ? number : never

type Text<V> = V extends string ? string : never

type Element<V> = V extends readonly (infer E)[] ? E : never
