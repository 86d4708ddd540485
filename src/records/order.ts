import { wrongOption } from '../base/errors.ts'
import { asList, isOrderField, type OrderField } from '../models/collated.ts'
import { compareValues, type FieldReader, fieldReader, type Row, sortsLast } from '../models/values.ts'
import { isObject } from '../protocol/json.ts'
import type { Cursor, QuerySpec } from './query-spec.ts'

/** A total order of rows. */
export interface Order {
  /** The fields of `orderBy`. Rows that are equal in all of them are ordered by `id`. */
  readonly fields: readonly Term[]
  /** Whether ties are ordered by descending id, as the last field is. */
  readonly descends: boolean
  /** Reads the value of the first field. */
  readonly key: FieldReader
  readonly compareKeys: CompareValues
  /** Compares rows with equal keys. Returns 0 only for the same id. */
  readonly compareTies: (a: Row, b: Row) => number
  /** Compares keys, then ties. */
  readonly compare: (a: Row, b: Row) => number
}

export interface Term {
  readonly field: OrderField
  readonly desc: boolean
  readonly read: FieldReader
  readonly compare: CompareValues
}

type CompareValues = (a: unknown, b: unknown) => number

/** The order by `fields`, ascending, then by `id`. */
export function ascending(fields: readonly OrderField[]): Order {
  return orderOf(fields.map((field) => termOf(field, false)))
}

function termOf(field: OrderField, desc: boolean): Term {
  const compare = typeof field === 'string' ? compareValues : field.compare
  const descending: CompareValues = (a, b) => (sortsLast(a) || sortsLast(b) ? compare(a, b) : compare(b, a))
  return { field, desc, read: fieldReader(field), compare: desc ? descending : compare }
}

function orderOf(fields: readonly Term[]): Order {
  const descends = fields.at(-1)?.desc ?? false
  const id = termOf('id', descends)
  const [first = id, ...ties] = [...fields, id]
  const compareTies = (a: Row, b: Row) => {
    for (const { read, compare } of ties) {
      const order = compare(read(a), read(b))
      if (order !== 0) return order
    }
    return 0
  }
  const compare = (a: Row, b: Row) => first.compare(first.read(a), first.read(b)) || compareTies(a, b)
  return { fields, descends, key: first.read, compareKeys: first.compare, compareTies, compare }
}

/** Parses `orderBy`. Throws a ConfigurationError that names `orderBy` if it is not valid. */
export function readOrder(orderBy: QuerySpec['orderBy'] = []): Order {
  const fields = asList(orderBy).map((term) => {
    const [field, direction = 'asc'] = asList(term)
    if (!isOrderField(field) || (direction !== 'asc' && direction !== 'desc')) {
      throw wrongOption('orderBy', "must be a list of fields, or of [field, 'asc' | 'desc'].")
    }
    return termOf(field, direction === 'desc')
  })
  return orderOf(fields)
}

/**
 * Returns a row at the place of the cursor. Throws a ConfigurationError that names `after` if the cursor is not valid.
 */
export function readCursor(cursor: Cursor, { fields }: Order): Row {
  const { values, id }: { values?: unknown; id?: unknown } = isObject(cursor) ? cursor : {}
  if (!Array.isArray(values) || values.length !== fields.length || typeof id !== 'string') {
    throw wrongOption('after', 'must be the cursor of a query with the same `orderBy`.')
  }
  return { id, p: Object.fromEntries(fields.map(({ field }, index) => [`${field}`, values[index]])) }
}

export function cursorAt(row: Row, { fields }: Order): Cursor {
  const values = fields.map(({ read }) => {
    const value = read(row) ?? null
    return sortsLast(value) ? null : value
  })
  return { values, id: row.id }
}
