import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonValue } from '../../src/protocol/json.ts'
import { readOrder } from '../../src/records/order.ts'
import { sort } from '../../src/records/sort.ts'
import { finish } from '../../src/records/turns.ts'
import { row } from '../support/replica-fixtures.ts'
import { expected } from '../support/replica-oracle.ts'

const columns: readonly (readonly JsonValue[])[] = [
  [3, -1, 0, -0, 2.5, Infinity, -Infinity],
  ['b', 'a', '', 'ab', 'é', '\ud800', 'Z'],
  [1, 'a', true, null, false, {}, [], 2],
]

test('sorts as comparing rows would, however many rows and ties there are', () => {
  const column = fc.constantFrom(...columns)
  const direction = fc.constantFrom('asc' as const, 'desc' as const)
  fc.assert(
    fc.property(
      fc.nat({ max: 3_000 }),
      fc.array(fc.tuple(column, direction), { maxLength: 3 }),
      fc.integer({ min: 1, max: 1_000 }),
      (length, fields, seed) => {
        const pick = (values: readonly JsonValue[], n: number) => values[n % values.length] ?? null
        const rows = Array.from({ length }, (_, i) => {
          const payload = fields.map(([values], f) => [`f${f}`, pick(values, (i * seed) >> f)])
          return row(`${(i * 7_919) % 3_001}`, Object.fromEntries(payload))
        })
        const orderBy = fields.map(([, direction], f) => [`f${f}`, direction] as const)
        const sorted = finish(sort(rows, readOrder(orderBy).compare))
        expect(sorted.map(({ id }) => id)).toEqual(expected(rows, { orderBy }).map(({ id }) => id))
      },
    ),
    { numRuns: 60 },
  )
})
