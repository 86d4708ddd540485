import type { Conditions } from '../models/conditions.ts'
import type { WireRow } from '../protocol/row.ts'
import { type IndexedRange, type IndexRange, indexRangeOf, scanRange } from './index-range.ts'
import { OrderedList } from './ordered-list.ts'
import type { Predicate } from './predicate.ts'
import type { Query } from './query.ts'
import { sort } from './sort.ts'
import type { Table } from './table.ts'
import { stride, type Work } from './turns.ts'

/** All rows that match a query, in the order of the query. */
export interface QueryMatches extends IndexRange {
  /**
   * The sorted list of matches, which the query keeps up to date; `undefined` if the matches are a range of an index.
   */
  readonly list?: OrderedList<WireRow>
}

/** Finds the matching rows. Calls `accepts` for each candidate, unless an index alone holds exactly the matches. */
export function* evaluate(table: Table, query: Query, accepts: Predicate): Work<QueryMatches> {
  const served = servedBy(table, query)
  if (served) return served
  const found: WireRow[] = []
  let seen = 0
  for (const row of candidates(table, query.where)) {
    if (accepts(row)) found.push(row)
    seen += 1
    if (seen % stride === 0) yield
  }
  const rows = yield* OrderedList.over<WireRow>(query.order, yield* sort(found, query.order.compare))
  return { rows, place: () => 0, list: rows }
}

/** The number of rows that `where` accepts. */
export function count(table: Table, where: Conditions): number {
  const exact = indexRanges(table, where).find((range) => range.exact)
  if (exact) return scanRange(exact).length
  let accepted = 0
  for (const row of candidates(table, where)) if (where.accepts(row)) accepted += 1
  return accepted
}

/** The index range that holds exactly the matches, in the query's order; `undefined` if there is none. */
function servedBy(table: Table, { where, filter, order }: Query): QueryMatches | undefined {
  if (filter) return undefined
  for (const { rows, place, exact, fixed, rest } of indexRanges(table, where)) {
    const terms = order.fields.filter(({ field }) => !fixed.includes(field))
    // Read backwards, an index can keep missing values last for one field only.
    const isScannable =
      terms.every(({ desc }) => desc === order.descends) && !(order.descends && terms.length > 1)
    const inOrder = terms.length === rest.length && terms.every(({ field }, index) => field === rest[index])
    if (!exact || !isScannable || !inOrder) continue
    return { rows, place, backwards: order.descends ? { by: terms[0]?.read } : undefined }
  }
  return undefined
}

/** The fewest rows that include all rows `where` accepts, as far as the indexes can tell without reading rows. */
function candidates(table: Table, where: Conditions): Iterable<WireRow> {
  const ids = where.fields.get('id')?.find((test) => test.values)?.values
  if (ids) return [...new Set(ids)].flatMap((id) => (typeof id === 'string' && table.get(id)) || [])
  const scans = indexRanges(table, where)
    .filter((range) => range.narrowed)
    .map(scanRange)
  const [narrowest] = scans.sort((a, b) => a.length - b.length)
  return narrowest ? narrowest.slice(0, narrowest.length) : table.rows()
}

function indexRanges(table: Table, where: Conditions): readonly IndexedRange[] {
  return table.indexes.map((index) => indexRangeOf(index, where))
}
