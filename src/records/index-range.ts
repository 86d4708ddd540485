import type { OrderField } from '../models/collated.ts'
import type { FieldTest } from '../models/condition.ts'
import type { Conditions } from '../models/conditions.ts'
import { type FieldReader, fieldReader, type Row, sortsLast } from '../models/values.ts'
import type { WireRow } from '../protocol/row.ts'
import type { OrderedList } from './ordered-list.ts'
import type { TableIndex } from './table-index.ts'

/** A range of ordered rows. It is defined by values, so it stays valid while the rows change. */
export interface IndexRange {
  readonly rows: Pick<OrderedList<WireRow>, 'rank' | 'slice'>
  /**
   * The position of a row, whose key in `rows` is `key`: before the range (below 0), in it (0) or after it (above 0).
   */
  readonly place: (row: Row, key: unknown) => number
  /** Set if the range is read from its end. Rows without a value in the field `by` still come last. */
  readonly backwards?: { readonly by: FieldReader | undefined } | undefined
}

/** The range of an index that includes all rows `where` accepts. */
export interface IndexedRange extends IndexRange {
  /** Whether `where` restricts the first field of the index. Otherwise, the range is the whole index. */
  readonly narrowed: boolean
  /** Whether the range includes no other rows. */
  readonly exact: boolean
  /** The first fields of the index, which are equal in all rows of the range. */
  readonly fixed: readonly OrderField[]
  /** The other fields of the index, by which the range is sorted. */
  readonly rest: readonly OrderField[]
}

interface Bound {
  readonly field: OrderField
  readonly read: FieldReader
  readonly tests: readonly FieldTest[]
}

export function indexRangeOf(rows: TableIndex, where: Conditions): IndexedRange {
  const { fields } = rows
  const bounds: Bound[] = []
  let fixed = 0
  for (const field of fields) {
    const tests = (where.fields.get(field) ?? []).filter((test) => test.place)
    if (tests.length > 0) bounds.push({ field, read: fieldReader(field), tests })
    // Stop at the first field that is not fixed by equality: later fields are sorted only within each of its values.
    if (!tests.some((test) => test.values)) break
    fixed += 1
  }
  const isBound = ([name, tests]: readonly [OrderField, readonly FieldTest[]]) =>
    bounds.some((bound) => bound.field === name && bound.tests.length === tests.length)
  return {
    rows,
    place: placeIn(bounds),
    narrowed: bounds.length > 0,
    exact: where.others.length === 0 && [...where.fields].every(isBound),
    fixed: fields.slice(0, fixed),
    rest: fields.slice(fixed),
  }
}

/** Tests the first field by the key, which is known without reading the row. */
function placeIn([first, ...others]: readonly Bound[]): IndexRange['place'] {
  if (!first) return () => 0
  return (row, key) => {
    let at = placeAmong(first.tests, key)
    for (const { read, tests } of others) at ||= placeAmong(tests, read(row))
    return at
  }
}

/** A value before the range of one test is before the range of all. */
function placeAmong(tests: Bound['tests'], value: unknown): number {
  let later = 0
  for (const { place } of tests) {
    const at = place ? place(value) : 0
    if (at < 0) return at
    later ||= at
  }
  return later
}

/** The rows of a range by their number, as they are now. */
export interface RangeScan {
  readonly length: number
  slice(from: number, to: number): readonly WireRow[]
}

export function scanRange({ rows, place, backwards }: IndexRange): RangeScan {
  const begin = rows.rank((row, key) => place(row, key) < 0)
  const end = rows.rank((row, key) => place(row, key) <= 0)
  const length = end - begin
  if (!backwards) return { length, slice: (from, to) => rows.slice(begin + from, begin + to) }
  const { by } = backwards
  const isPresent = (row: Row, at: number) => at < 0 || (at === 0 && !sortsLast(by?.(row)))
  const missingFrom = by ? rows.rank((row, key) => isPresent(row, place(row, key))) : end
  const presentCount = missingFrom - begin
  const reversed = (from: number, to: number) => rows.slice(from, to).reverse()
  return {
    length,
    slice: (from, to) => [
      ...reversed(missingFrom - Math.min(to, presentCount), missingFrom - Math.min(from, presentCount)),
      ...reversed(end - Math.max(to - presentCount, 0), end - Math.max(from - presentCount, 0)),
    ],
  }
}
