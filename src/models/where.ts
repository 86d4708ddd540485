import type { JsonValue } from '../protocol/json.ts'
import type { TextCondition } from './collated.ts'

/**
 * Conditions on fields, all of which must hold. A plain value means equality, an object is a {@link Condition}, and
 * `undefined` is ignored. `and`, `or` and `not` combine conditions and are never field names.
 */
export type Where<R = AnyRecord> = string extends keyof R ? AnyWhere : FieldConditions<R> & Combination<R>

/** Conditions on one field, all of which must hold. `undefined` is ignored. */
export interface Condition<V = JsonValue> {
  /** The field equals this JSON value. `null` also matches a missing field. */
  readonly eq?: V | undefined
  readonly ne?: V | undefined
  readonly in?: readonly V[] | undefined
  /** Comparisons are between two strings or two numbers. A value of another kind never matches. */
  readonly gt?: Comparable<V> | undefined
  readonly gte?: Comparable<V> | undefined
  readonly lt?: Comparable<V> | undefined
  readonly lte?: Comparable<V> | undefined
  readonly startsWith?: Text<V> | undefined
  /** The field is a string that includes this string, or an array that has this element. */
  readonly contains?: Text<V> | Element<V> | undefined
}

/** The field names of a record; for a union of records, the field names of all of them. */
export type FieldName<R> = R extends unknown ? keyof R & string : never

/** A record of any type. */
type AnyRecord = { readonly [field: string]: JsonValue }

interface AnyWhere {
  readonly [field: string]: JsonValue | Condition | TextCondition | readonly Where[] | Where | undefined
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
    | TextTest<FieldValue<R, Field>>
    | undefined
}

/** The values of a field, with `null` if the field may be missing. */
type FieldValue<R, Field extends string> = NullFor<
  R extends { readonly [F in Field]?: infer V } ? V : undefined
>

type NullFor<V> = undefined extends V ? Exclude<V, undefined> | null : V

// An object is not allowed as a plain value, because it would be read as a condition. A branded string or number is an
// object only to the type checker, and is allowed.
type Plain<V> = V extends string | number | boolean | readonly unknown[] ? V : V extends object ? never : V

type Comparable<V> = V extends string ? string : V extends number ? number : never

type Text<V> = V extends string ? string : never

type TextTest<V> = V extends string | readonly string[] ? TextCondition : never

type Element<V> = V extends readonly (infer E)[] ? E : never
