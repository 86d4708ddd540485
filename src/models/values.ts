import type { JsonValue } from '../protocol/json.ts'
import type { WireRow } from '../protocol/row.ts'
import type { OrderField } from './collated.ts'

/** The part of a row that orders and conditions read. */
export type Row = Pick<WireRow, 'id' | 'p'>

/** Returns the value of one field of a row, never an inherited property. */
export type FieldReader = (row: Row) => JsonValue | undefined

export function fieldReader(orderField: OrderField): FieldReader {
  const field = `${orderField}`
  if (field === 'id') return (row) => row.id
  // Check for an own property only if the name needs it: the check costs more than the rest of a comparison.
  if (field in Object.prototype) return ({ p }) => (Object.hasOwn(p, field) ? p[field] : undefined)
  return (row) => row.p[field]
}

/** The kinds of values, in order. All values of the kind `last` are equal. */
const kinds = { number: 0, string: 1, boolean: 2, last: 3 } as const

function kindOf(value: unknown): number {
  const type = typeof value
  if (type === 'string' || type === 'boolean') return kinds[type]
  return type === 'number' && !Number.isNaN(value) ? kinds.number : kinds.last
}

/** Whether `value` comes last in both directions: it is missing, `null`, an array or an object. */
export function sortsLast(value: unknown): boolean {
  return kindOf(value) === kinds.last
}

/** Compares the kinds of two values. Returns 0 if the values themselves are comparable. */
export function compareKinds(a: unknown, b: unknown): number {
  return kindOf(a) - kindOf(b)
}

/** Compares in ascending order: by kind, then by value. */
export function compareValues(a: unknown, b: unknown): number {
  if (a === b) return 0
  // Nearly always, both values are of the same kind.
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : 1
  if (typeof a === 'number' && typeof b === 'number') {
    if (a < b) return -1
    if (a > b) return 1
  }
  const difference = compareKinds(a, b)
  if (difference !== 0 || sortsLast(a)) return difference
  return a === false ? -1 : 1
}
