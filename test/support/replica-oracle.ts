import type { WireRow } from '../../src/protocol/row.ts'
import type { QuerySpec } from '../../src/records/query-spec.ts'

interface Fields {
  readonly id: string
  readonly [field: string]: unknown
}

/** What a query over `rows` gives, said as plainly as can be: filter, sort, slice. */
export function expected(rows: Iterable<WireRow>, spec: QuerySpec): readonly Fields[] {
  const terms = termsOf(spec)
  const records = [...rows].map(({ id, p }): Fields => ({ ...p, id }))
  const matches = records
    .filter((record) => holds(spec.where ?? {}, record) && (spec.filter?.(record as never) ?? true))
    .sort((a, b) => compare(terms, a, b))
  const { after, limit = matches.length } = spec
  if (!after) return matches.slice(0, limit)
  const place = { ...Object.fromEntries(terms.map(([field], i) => [field, after.values[i]])), id: after.id }
  return matches.filter((record) => compare(terms, record, place) > 0).slice(0, limit)
}

/** The fields of an order without collations, each with its direction. */
function termsOf({ orderBy = [] }: QuerySpec): readonly (readonly [string, string])[] {
  const list = Array.isArray(orderBy) ? orderBy : [orderBy]
  return list.map((term) => {
    const [field, direction = 'asc'] = Array.isArray(term) ? term : [term]
    return [String(field), direction]
  })
}

function field(record: Fields, name: string): unknown {
  return Object.keys(record).includes(name) ? record[name] : null
}

function compare(terms: readonly (readonly [string, string])[], a: Fields, b: Fields): number {
  for (const [name, direction] of terms) {
    const [x, y] = [field(a, name), field(b, name)]
    const [p, q] = [kind(x), kind(y)]
    const sign = direction === 'desc' ? -1 : 1
    if (p !== q) return p === 'z' ? 1 : q === 'z' ? -1 : p < q ? -sign : sign
    if (p !== 'z' && x !== y) return (x as number) < (y as number) ? -sign : sign
  }
  const ids = terms.at(-1)?.[1] === 'desc' ? -1 : 1
  return a.id === b.id ? 0 : a.id < b.id ? -ids : ids
}

/** A letter for each kind, in their order; `z` comes last in both directions. */
function kind(value: unknown): string {
  return { number: 'a', string: 'b', boolean: 'c' }[typeof value as string] ?? 'z'
}

function holds(where: object, record: Fields): boolean {
  return Object.entries(where).every(([name, value]) => {
    if (value === undefined) return true
    if (name === 'and') return value.every((part: object) => holds(part, record))
    if (name === 'or') return value.some((part: object) => holds(part, record))
    if (name === 'not') return !holds(value, record)
    const condition = kind(value) === 'z' && value !== null && !Array.isArray(value) ? value : { eq: value }
    return Object.entries(condition).every(([name2, operand]) =>
      operates(name2, field(record, name), operand),
    )
  })
}

function operates(operator: string, value: unknown, operand: unknown): boolean {
  const ordered = kind(value) === kind(operand) && typeof value === typeof operand
  const [x, y] = [value as number, operand as number]
  switch (operator) {
    case 'eq':
      return same(value, operand)
    case 'ne':
      return !same(value, operand)
    case 'in':
      return (operand as unknown[]).some((one) => same(value, one))
    case 'gt':
      return ordered && x > y
    case 'gte':
      return ordered && x >= y
    case 'lt':
      return ordered && x < y
    case 'lte':
      return ordered && x <= y
    case 'startsWith':
      return typeof value === 'string' && value.slice(0, String(operand).length) === operand
    case 'contains':
      if (Array.isArray(value)) return value.some((one) => same(one, operand))
      return typeof value === 'string' && typeof operand === 'string' && value.indexOf(operand) >= 0
    default:
      throw new Error(`The oracle does not know ${operator}.`)
  }
}

/** Equality of the arbitraries' values: what they nest has no keys in another order. */
function same(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' || typeof b === 'number') return a === b
  return JSON.stringify(a) === JSON.stringify(b)
}
