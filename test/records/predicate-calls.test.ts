import { describe, expect, test } from 'vitest'
import type { QuerySpec } from '../../src/records/query-spec.ts'
import type { DataRecord } from '../../src/records/record.ts'
import { apply, replicaOf, row, t } from '../support/replica-fixtures.ts'

function prepared(size: number, spec: QuerySpec) {
  let asked = 0
  const filter = ({ kept }: DataRecord) => {
    asked += 1
    return kept === true
  }
  const rows = Array.from({ length: size }, (_, n) => row(`r${n}`, { n, kept: n % 2 === 0 }))
  const { replica } = replicaOf(rows, [['n']])
  const query = replica.query(t, { ...spec, filter })
  query.subscribe(() => {})
  return {
    replica,
    query,
    /** How often the filter is asked while `act` runs. */
    during(act: () => void) {
      asked = 0
      act()
      return asked
    },
  }
}

describe.each([1_000, 100_000])('among %d rows', (size) => {
  const specs = { all: {}, ordered: { orderBy: 'n' }, few: { orderBy: [['n', 'desc']], limit: 3 } } as const

  test.each(Object.entries(specs))('one changed row costs at most two calls of the filter: %s', (_, spec) => {
    const { replica, query, during } = prepared(size, spec)
    const calls = (after: Parameters<typeof apply>[1]) =>
      during(() => {
        apply(replica, after)
        expect(query.rows.length).toBeGreaterThan(0)
      })
    expect(calls(row('r10', { n: 10.5, kept: true }))).toBeLessThanOrEqual(2)
    expect(calls(row('r10', { n: 10.5, kept: false }))).toBeLessThanOrEqual(2)
    expect(calls(row('new', { n: size, kept: true }))).toBeLessThanOrEqual(2)
    expect(calls('new')).toBeLessThanOrEqual(2)
  })

  test('a window is refilled without calling the filter for unchanged rows', () => {
    const { replica, query, during } = prepared(size, { orderBy: 'n', limit: 3 })
    const shown = () => query.rows.map(({ id }) => id)
    expect(shown()).toEqual(['r0', 'r2', 'r4'])
    expect(during(() => apply(replica, 'r2'))).toBe(0)
    expect(shown()).toEqual(['r0', 'r4', 'r6'])
    expect(during(() => apply(replica, row('r0', { n: 9_000_000, kept: true })))).toBeLessThanOrEqual(2)
    expect(shown()).toEqual(['r4', 'r6', 'r8'])
  })
})

test('an index reduces the rows for which a filter is first called', () => {
  const { replica, during } = prepared(1_000, {})
  let asked = 0
  const filter = () => {
    asked += 1
    return true
  }
  during(() => expect(replica.query(t, { where: { n: { gte: 10, lt: 20 } }, filter }).rows).toHaveLength(10))
  expect(asked).toBe(10)
  replica.query(t, { where: { id: { in: ['r1', 'r2', 'r2', 'none'] } }, filter }).rows
  expect(asked).toBe(12)
})

test('a query without subscribers costs a change nothing', () => {
  let asked = 0
  const filter = () => {
    asked += 1
    return true
  }
  const { replica } = replicaOf([row('r1')])
  const query = replica.query(t, { filter })
  const undos = [query.subscribe(() => {}), query.subscribe(() => {})]
  const calls = (id: string) => {
    asked = 0
    apply(replica, row(id))
    return asked
  }
  undos[0]?.()
  expect(calls('r2')).toBe(1)
  undos[1]?.()
  expect(calls('r3')).toBe(0)
  expect(query.rows).toHaveLength(3)
})
