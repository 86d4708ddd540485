import { isObject, type JsonValue } from '../protocol/json.ts'

/**
 * A field that is ordered by a collation: the result of `collation(…).by(field)`. Use it in place of a field's name in
 * an order or an index. The same object is the same order, so an index serves the queries that use its object.
 */
export interface CollatedField<Field extends string = string> {
  /** Compares two values of the field in ascending order, also values that are no strings. */
  compare(a: unknown, b: unknown): number
  /** The name of the field. */
  toString(): Field
  /** A description of the field and the collation, to compare queries by their content. */
  toJSON(): object
}

/** A field by its name, or by its name and a collation. */
export type OrderField<Field extends string = string> = Field | CollatedField<Field>

/** A condition on texts: the result of `collation(…).contains(part)`. */
export interface TextCondition {
  accepts(value: JsonValue | undefined): boolean
  /** A description of the condition, to compare queries by their content. */
  toJSON(): object
}

export function isOrderField(value: unknown): value is OrderField {
  return typeof value === 'string' || (isObject(value) && typeof value.compare === 'function')
}

export function isTextCondition(value: unknown): value is TextCondition {
  return isObject(value) && typeof value.accepts === 'function'
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}
