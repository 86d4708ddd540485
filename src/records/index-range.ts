import type { WireRow } from '../protocol/row.ts'
import type { FieldTest } from './condition.ts'
import type { Conditions } from './conditions.ts'
import type { OrderedList } from './ordered-list.ts'
import type { TableIndex } from './table-index.ts'
import { type FieldReader, isLast, type Row, reading } from './values.ts'

/** A stretch of ordered rows. It is said by values, so it stays the same while the rows change. */
export interface IndexRange {
  readonly rows: Pick<OrderedList<WireRow>, 'rank' | 'slice'>
  /** Whether a row, whose key in `rows` is `key`, lies before the stretch (below 0), in it, or behind it (above 0). */
  readonly place: (row: Row, key: unknown) => number
  /** Walked from the end, though what is missing in the field `by` is still last. */
  readonly backwards?: { readonly by: FieldReader | undefined } | undefined
}

/** The stretch of an index in which all rows lie that `where` accepts. */
export interface IndexedRange extends IndexRange {
  /** Whether `where` says something of the index's first field, so that there is a stretch and not only the whole. */
  readonly narrowed: boolean
  /** Whether no other rows lie in it. */
  readonly exact: boolean
  /** The index's first fields, in which all rows of the stretch are the same. */
  readonly held: readonly string[]
  /** Its other fields, by which the stretch is in order. */
  readonly rest: readonly string[]
}

interface Bound {
  readonly field: string
  readonly read: FieldReader
  readonly tests: readonly FieldTest[]
}

export function indexRangeOf(rows: TableIndex, where: Conditions): IndexedRange {
  const { fields } = rows
  const bounds: Bound[] = []
  let held = 0
  for (const field of fields) {
    const tests = (where.fields.get(field) ?? []).filter((test) => test.place)
    if (tests.length > 0) bounds.push({ field, read: reading(field), tests })
    // Behind a field that may differ, the next one is in order only within each of its values.
    if (!tests.some((test) => test.values)) break
    held += 1
  }
  const isBound = ([name, tests]: readonly [string, readonly FieldTest[]]) =>
    bounds.some((bound) => bound.field === name && bound.tests.length === tests.length)
  return {
    rows,
    place: placeIn(bounds),
    narrowed: bounds.length > 0,
    exact: where.others.length === 0 && [...where.fields].every(isBound),
    held: fields.slice(0, held),
    rest: fields.slice(held),
  }
}

/** The first field's value is the key, which is at hand without the row. */
function placeIn([first, ...others]: readonly Bound[]): IndexRange['place'] {
  if (!first) return () => 0
  return (row, key) => {
    let at = placeAmong(first.tests, key)
    for (const { read, tests } of others) at ||= placeAmong(tests, read(row))
    return at
  }
}

/** Before one of the tests is before them all. */
function placeAmong(tests: Bound['tests'], value: unknown): number {
  let behind = 0
  for (const { place } of tests) {
    const at = place ? place(value) : 0
    if (at < 0) return at
    behind ||= at
  }
  return behind
}

/** The rows of a stretch by their number, as they lie now. */
export interface Walk {
  readonly length: number
  slice(from: number, to: number): readonly WireRow[]
}

export function walk({ rows, place, backwards }: IndexRange): Walk {
  const begin = rows.rank((row, key) => place(row, key) < 0)
  const end = rows.rank((row, key) => place(row, key) <= 0)
  const length = end - begin
  if (!backwards) return { length, slice: (from, to) => rows.slice(begin + from, begin + to) }
  const { by } = backwards
  const isPresent = (row: Row, at: number) => at < 0 || (at === 0 && !isLast(by?.(row)))
  const missing = by ? rows.rank((row, key) => isPresent(row, place(row, key))) : end
  const present = missing - begin
  const reversed = (from: number, to: number) => rows.slice(from, to).reverse()
  return {
    length,
    slice: (from, to) => [
      ...reversed(missing - Math.min(to, present), missing - Math.min(from, present)),
      ...reversed(end - Math.max(to - present, 0), end - Math.max(from - present, 0)),
    ],
  }
}
