import type { WireRow } from '../protocol/row.ts'
import type { Conditions } from './conditions.ts'
import { type IndexedRange, type IndexRange, indexRangeOf, walk } from './index-range.ts'
import { OrderedList } from './ordered-list.ts'
import type { Predicate } from './predicate.ts'
import type { Query } from './query.ts'
import { sort } from './sort.ts'
import type { Table } from './table.ts'
import { stride, type Work } from './turns.ts'

/** All rows that match a query, in its order. */
export interface Matches extends IndexRange {
  /** The query's own list, for it to keep up; without one they are in an index, which keeps itself. */
  readonly own?: OrderedList<WireRow>
}

/** Finds what matches; `accepts` is asked about each row that may, unless an index alone can tell. */
export function* evaluate(table: Table, query: Query, accepts: Predicate): Work<Matches> {
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
  return { rows, place: () => 0, own: rows }
}

/** How many rows `where` accepts. */
export function count(table: Table, where: Conditions): number {
  const exact = stretches(table, where).find((stretch) => stretch.exact)
  if (exact) return walk(exact).length
  let accepted = 0
  for (const row of candidates(table, where)) if (where.accepts(row)) accepted += 1
  return accepted
}

/** The stretch of an index that holds what matches and nothing else, in the query's order. */
function servedBy(table: Table, { where, filter, order }: Query): Matches | undefined {
  if (filter) return undefined
  for (const { rows, place, exact, held, rest } of stretches(table, where)) {
    const terms = order.fields.filter(({ field }) => !held.includes(field))
    // Backwards, only one field can still have last what is missing.
    const walkable =
      terms.every(({ desc }) => desc === order.descends) && !(order.descends && terms.length > 1)
    const inOrder = terms.length === rest.length && terms.every(({ field }, index) => field === rest[index])
    if (!exact || !walkable || !inOrder) continue
    return { rows, place, backwards: order.descends ? { by: terms[0]?.read } : undefined }
  }
  return undefined
}

/** Rows among which all are that `where` accepts: as few as can be told without looking at them. */
function candidates(table: Table, where: Conditions): Iterable<WireRow> {
  const ids = where.fields.get('id')?.find((test) => test.values)?.values
  if (ids) return [...new Set(ids)].flatMap((id) => (typeof id === 'string' && table.get(id)) || [])
  const walks = stretches(table, where)
    .filter((stretch) => stretch.narrowed)
    .map(walk)
  const [narrowest] = walks.sort((a, b) => a.length - b.length)
  return narrowest ? narrowest.slice(0, narrowest.length) : table.rows()
}

function stretches(table: Table, where: Conditions): readonly IndexedRange[] {
  return table.indexes.map((index) => indexRangeOf(index, where))
}
