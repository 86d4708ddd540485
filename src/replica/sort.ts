import type { WireRow } from '../protocol/row.ts'
import type { Term } from './order.ts'
import { partition } from './ordered-list.ts'
import { stride, type Work } from './turns.ts'
import { isLast } from './values.ts'

/**
 * `rows` in the order of `terms`, of which the last is no tie. The values of one term are sorted without the rows,
 * and rows that share one are sorted among themselves by the next: comparing rows costs several times as much.
 */
export function* sort(rows: WireRow[], terms: readonly Term[]): Work<WireRow[]> {
  const [term, ...rest] = terms
  if (!term || rows.length < 2) return rows
  if (rest.length === 0) return yield* mergeSort(rows, (a, b) => term.compare(term.read(a), term.read(b)))
  const numbers = yield* readNumbers(rows, term)
  return yield* numbers ? sortByNumbers(rows, numbers, rest) : sortByGroups(rows, term, rest)
}

/** The values of a term, negative where it descends; nothing if one of them is no number. */
function* readNumbers(rows: readonly WireRow[], { read, desc }: Term): Work<Float64Array | undefined> {
  const numbers = new Float64Array(rows.length)
  for (const [index, row] of rows.entries()) {
    const value = read(row)
    if (typeof value !== 'number' || isLast(value)) return undefined
    numbers[index] = desc ? -value : value
    if (index % stride === 0) yield
  }
  return numbers
}

/** Every row goes to the place that its number has among the sorted ones. */
function* sortByNumbers(
  rows: readonly WireRow[],
  numbers: Float64Array,
  rest: readonly Term[],
): Work<WireRow[]> {
  const ordered = numbers.slice().sort()
  const ties = new Uint32Array(rows.length)
  const sorted = new Array<WireRow>(rows.length)
  for (const [index, row] of rows.entries()) {
    const number = numbers[index] ?? 0
    const rank = partition(rows.length, (at) => (ordered[at] ?? 0) < number)
    const tied = ties[rank] ?? 0
    sorted[rank + tied] = row
    ties[rank] = tied + 1
    if (index % stride === 0) yield
  }
  for (const [rank, tied] of ties.entries()) {
    if (tied < 2) continue
    const group = yield* sort(sorted.slice(rank, rank + tied), rest)
    for (const [index, row] of group.entries()) sorted[rank + index] = row
  }
  return sorted
}

function* sortByGroups(rows: readonly WireRow[], term: Term, rest: readonly Term[]): Work<WireRow[]> {
  const groups = new Map<unknown, WireRow[]>()
  const last: WireRow[] = []
  for (const [index, row] of rows.entries()) {
    const value = term.read(row)
    const group = isLast(value) ? last : groups.get(value)
    if (group) group.push(row)
    else groups.set(value, [row])
    if (index % stride === 0) yield
  }
  const values = yield* mergeSort([...groups.keys()], term.compare)
  const sorted: WireRow[] = []
  for (const group of [...values.map((value) => groups.get(value) ?? []), last]) {
    for (const row of yield* sort(group, rest)) sorted.push(row)
    if (sorted.length % stride === 0) yield
  }
  return sorted
}

/** Runs are sorted each, then merged in pairs until one is left. */
function* mergeSort<T>(items: readonly T[], compare: (a: T, b: T) => number): Work<T[]> {
  let runs: T[][] = []
  for (let start = 0; start < items.length; start += stride) {
    runs.push(items.slice(start, start + stride).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(yield* merge(runs[index] ?? [], runs[index + 1] ?? [], compare))
    }
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): Work<T[]> {
  const merged: T[] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    if (compare(a[i] as T, b[j] as T) <= 0) {
      merged.push(a[i] as T)
      i += 1
    } else {
      merged.push(b[j] as T)
      j += 1
    }
    if (merged.length % stride === 0) yield
  }
  return merged.concat(a.slice(i), b.slice(j))
}
