import * as fc from 'fast-check'
import type { Where } from '../../src/models/where.ts'
import type { JsonValue, Payload } from '../../src/protocol/json.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { QuerySpec } from '../../src/records/query-spec.ts'
import { row } from './replica-fixtures.ts'

/** Few, so that rows meet; one is what every object inherits. */
const fields = ['a', 'b', 'toString'] as const

const field = fc.constantFrom(...fields)

const scalar = fc.constantFrom<JsonValue>(
  null,
  0,
  -0,
  1,
  2,
  -1.5,
  Infinity,
  -Infinity,
  '',
  'a',
  'ab',
  'b',
  false,
  true,
)

const value = fc.oneof(
  { weight: 8, arbitrary: scalar },
  { weight: 1, arbitrary: fc.constantFrom<JsonValue>([], ['a'], [1, 'ab'], {}, { a: 1 }) },
)

const id = fc.constantFrom(...'abcdefghijkl')

/** Payloads that name the row's id, or another. */
const named: { readonly [id: string]: Payload } = { a: { id: 'a' }, b: { id: 'b' }, c: { id: 'z' } }

const payload = fc.record(
  { a: value, b: value, toString: value },
  { requiredKeys: [], noNullPrototype: true },
)

export const anyRow: fc.Arbitrary<WireRow> = fc
  .tuple(id, payload, fc.option(fc.constantFrom(1, 2), { nil: undefined }))
  .map(([id, p, v]) => row(id, { ...p, ...named[id] } as Payload, v))

/** Rows, no two of them with one id. */
export const rows = fc.uniqueArray(anyRow, { selector: (row) => row.id, maxLength: 12 })

/** What becomes of rows, each named once; an id alone is removed. */
export const batch = fc.uniqueArray(fc.oneof({ weight: 3, arbitrary: anyRow }, id), {
  selector: (after) => (typeof after === 'string' ? after : after.id),
  maxLength: 5,
})

const bound = fc.constantFrom(0, 1, -1.5, '', 'a', 'ab')

const condition = fc.oneof(
  fc.record({ eq: value }),
  fc.record({ ne: value }),
  fc.record({ in: fc.array(value, { maxLength: 3 }) }),
  fc.record({ gt: bound, gte: bound, lt: bound, lte: bound }, { requiredKeys: [] }),
  fc.record({ startsWith: fc.constantFrom('', 'a', 'ab') }),
  fc.record({ contains: scalar }),
)

const plain = value.filter((value) => typeof value !== 'object' || value === null || Array.isArray(value))

const simple = fc.oneof(
  fc.dictionary(field, fc.oneof(plain, plain, condition), { maxKeys: 3, noNullPrototype: true }),
  fc.record({ id: fc.oneof(id, fc.record({ in: fc.array(id, { maxLength: 3 }) }), fc.record({ gt: id })) }),
)

const where: fc.Arbitrary<Where> = fc.oneof(
  { weight: 4, arbitrary: simple },
  {
    weight: 1,
    arbitrary: fc.record({ and: fc.array(simple, { maxLength: 2 }), a: plain }, { requiredKeys: ['and'] }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ or: fc.array(simple, { maxLength: 2 }), b: plain }, { requiredKeys: ['or'] }),
  },
  { weight: 1, arbitrary: fc.record({ not: simple }) },
) as fc.Arbitrary<Where>

const direction = fc.constantFrom('asc' as const, 'desc' as const)

const term = fc.oneof(fc.constantFrom(...fields, 'id'), fc.tuple(fc.constantFrom(...fields, 'id'), direction))

const filters: readonly NonNullable<QuerySpec['filter']>[] = [
  (record) => record.id > 'e',
  ({ a }) => typeof a === 'number',
]

const anySpec = fc
  .record(
    {
      where,
      orderBy: fc.oneof(field, fc.array(term, { maxLength: 3 })),
      limit: fc.nat({ max: 5 }),
      filter: fc.constantFrom(...filters),
      after: fc.record({ values: fc.array(scalar, { minLength: 3, maxLength: 3 }), id }),
    },
    { requiredKeys: [] },
  )
  .map(({ after, ...rest }) => {
    const length = typeof rest.orderBy === 'string' ? 1 : (rest.orderBy?.length ?? 0)
    return after ? { ...rest, after: { ...after, values: after.values.slice(0, length) } } : rest
  })

/** Such as an index can serve. */
const servedSpec = fc
  .record({
    held: fc.option(fc.constantFrom<JsonValue>(1, 'a', true)),
    orderBy: fc.constantFrom<readonly string[]>([], ['a'], ['b'], ['a', 'b'], ['b', 'a']),
    direction,
    limit: fc.constantFrom(undefined, 1, 3),
  })
  .map(({ held, orderBy, direction, limit }) => ({
    ...(held === null ? undefined : { where: { a: held } }),
    orderBy: orderBy.map((field) => [field, direction] as const),
    limit,
  }))

/** A query of any shape, over the fields of {@link anyRow}. */
export const spec: fc.Arbitrary<QuerySpec> = fc.oneof(anySpec, servedSpec)

type Fields = readonly [string, ...string[]]

/** Some indexes over the same fields. */
export const indexes: fc.Arbitrary<readonly Fields[]> = fc.subarray<Fields>([
  ['a'],
  ['b'],
  ['a', 'b'],
  ['b', 'a'],
  ['toString', 'a'],
  ['a', 'b', 'toString'],
])
