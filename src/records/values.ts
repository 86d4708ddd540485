import type { JsonValue } from '../protocol/json.ts'
import type { WireRow } from '../protocol/row.ts'

/** What orders and conditions read of a row. */
export type Row = Pick<WireRow, 'id' | 'p'>

/** Gives a row's value of one field, and never what an object inherits. */
export type FieldReader = (row: Row) => JsonValue | undefined

export function reading(field: string): FieldReader {
  if (field === 'id') return (row) => row.id
  // To ask each payload whether the field is its own costs more than all else that a comparison does.
  if (field in Object.prototype) return ({ p }) => (Object.hasOwn(p, field) ? p[field] : undefined)
  return (row) => row.p[field]
}

/** The kinds of values in their order. All that is `last` is equal. */
const kinds = { number: 0, string: 1, boolean: 2, last: 3 } as const

function kindOf(value: unknown): number {
  const type = typeof value
  if (type === 'string' || type === 'boolean') return kinds[type]
  return type === 'number' && !Number.isNaN(value) ? kinds.number : kinds.last
}

/** Whether `value` comes last in both directions: it is missing, `null`, an array or an object. */
export function isLast(value: unknown): boolean {
  return kindOf(value) === kinds.last
}

/** How the kinds of two values compare; 0 where one may be above or below the other. */
export function compareKinds(a: unknown, b: unknown): number {
  return kindOf(a) - kindOf(b)
}

/** Ascending: by kind, then by value. */
export function compareValues(a: unknown, b: unknown): number {
  if (a === b) return 0
  // Nearly always the two are of one kind.
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : 1
  if (typeof a === 'number' && typeof b === 'number') {
    if (a < b) return -1
    if (a > b) return 1
  }
  const difference = compareKinds(a, b)
  if (difference !== 0 || isLast(a)) return difference
  return a === false ? -1 : 1
}

/** Descending, except that what is last still is. */
export function compareDescending(a: unknown, b: unknown): number {
  return isLast(a) || isLast(b) ? compareValues(a, b) : compareValues(b, a)
}
