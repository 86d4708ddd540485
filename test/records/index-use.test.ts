import { expect, test } from 'vitest'
import type { QuerySpec } from '../../src/records/query-spec.ts'
import { apply, replicaOf, row, t } from '../support/replica-fixtures.ts'

/** 10 000 rows under an index, which count how often their fields are read. */
function counted() {
  let reads = 0
  const payloadOf = (n: number, title: string) => ({
    get group() {
      reads += 1
      return n % 100
    },
    get n() {
      reads += 1
      return n
    },
    title,
  })
  const rows = Array.from({ length: 10_000 }, (_, n) => row(`r${n}`, payloadOf(n, 'old')))
  const { replica } = replicaOf(rows, [['group', 'n']])
  /** How often while `act` runs. */
  const readsIn = (act: () => void) => {
    reads = 0
    act()
    return reads
  }
  return { replica, payloadOf, readsIn }
}

test.each<[string, QuerySpec, number[]]>([
  ['its first rows', { orderBy: ['group', 'n'], limit: 2 }, [0, 100]],
  ['a stretch of it', { where: { group: 7 }, orderBy: 'n', limit: 2 }, [7, 107]],
  ['a range of it, from the end', { where: { group: 7 }, orderBy: [['n', 'desc']], limit: 2 }, [9907, 9807]],
  ['a part of a stretch', { where: { group: 7, n: { gt: 500 } }, orderBy: 'n', limit: 2 }, [507, 607]],
  ['a stretch of it in another order', { where: { group: 7, n: { lt: 300 } } }, [107, 207, 7]],
])('a query that an index covers reads few rows: %s', (_, spec, expected) => {
  const { replica, readsIn } = counted()
  const query = replica.query(t, spec)
  expect(readsIn(() => query.slice(0, 9))).toBeLessThan(200)
  expect(query.rows.map(({ n }) => n)).toEqual(expected)
})

test('counting one range of an index reads few rows', () => {
  const { replica, readsIn } = counted()
  let count = 0
  expect(readsIn(() => (count = replica.count(t, { group: 7 })))).toBeLessThan(100)
  expect(count).toBe(100)
})

test('a row that keeps its place in an index is shown with its new fields', () => {
  const { replica, payloadOf, readsIn } = counted()
  const change = (n: number, title: string) => readsIn(() => apply(replica, row('r107', payloadOf(n, title))))
  const staying = change(107, 'new')
  expect(change(108, 'new')).toBeGreaterThan(2 * staying)
  const titles = (group: number) =>
    replica.query(t, { where: { group }, orderBy: 'n', limit: 3 }).rows.map(({ n, title }) => [n, title])
  expect(titles(7)).toEqual([
    [7, 'old'],
    [207, 'old'],
    [307, 'old'],
  ])
  expect(titles(8)).toEqual([
    [8, 'old'],
    [108, 'new'],
    [108, 'old'],
  ])
  change(108, 'newer')
  expect(titles(8)).toEqual([
    [8, 'old'],
    [108, 'newer'],
    [108, 'old'],
  ])
})
