import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { OrderedList } from '../../src/records/ordered-list.ts'
import { finish } from '../../src/records/turns.ts'

interface Item {
  readonly key: number
  readonly id: number
}

const order = {
  key: (item: Item) => item.key,
  compareKeys: (a: unknown, b: unknown) => Number(a) - Number(b),
  compareTies: (a: Item, b: Item) => a.id - b.id,
}

const compare = (a: Item, b: Item) => a.key - b.key || a.id - b.id

/** Few keys and many items, so that there are ties, and chunks that are cut and emptied. */
const items = fc
  .tuple(fc.integer(), fc.integer({ min: 0, max: 3_000 }))
  .map(([seed, length]) =>
    Array.from({ length }, (_, id): Item => ({ key: Math.abs((seed ^ (id * 2_654_435_761)) % 40), id })),
  )

test('contains the added and not removed items, in order', () => {
  fc.assert(
    fc.property(items, fc.nat(), fc.nat({ max: 100 }), (items, start, share) => {
      const initial = items.slice(0, start % (items.length + 1)).sort(compare)
      const list = finish(OrderedList.over(order, initial))
      const model = new Set(initial)
      for (const item of items) {
        if ((item.id * 7_919) % 100 < share) {
          expect(list.remove(item)).toBe(model.delete(item))
        } else {
          list.add(item)
          model.add(item)
        }
      }
      const sorted = [...model].sort(compare)
      expect(list.slice(0, Infinity)).toEqual(sorted)
      for (let key = 0; key <= 40; key += 8) {
        const rank = sorted.filter((item) => item.key < key).length
        expect(list.rank((item) => item.key < key)).toBe(rank)
        expect(list.slice(rank, rank + 3)).toEqual(sorted.slice(rank, rank + 3))
      }
    }),
    { numRuns: 60 },
  )
})

test('an item replaces an equal one', () => {
  const list = finish(OrderedList.over(order, [{ key: 1, id: 1 }]))
  const other = { key: 1, id: 1 }
  list.add(other)
  const held = list.slice(0, 9)
  expect(held).toHaveLength(1)
  expect(held[0]).toBe(other)
})

test('a part of it can be emptied and filled again', () => {
  const items = Array.from({ length: 2_000 }, (_, id) => ({ key: id, id }))
  const [before, part, behind] = [items.slice(0, 300), items.slice(300, 1_700), items.slice(1_700)]
  const list = finish(OrderedList.over(order, items))
  for (const item of part) list.remove(item)
  expect(list.slice(0, Infinity)).toEqual([...before, ...behind])
  expect(list.rank(({ key }) => key < 1_800)).toBe(400)
  for (const item of part) list.add(item)
  expect(list.slice(0, Infinity)).toEqual(items)
  expect(list.rank(({ key }) => key < 1_800)).toBe(1_800)
  expect(list.slice(1_600, 1_800)).toEqual(items.slice(1_600, 1_800))
  for (const item of items) list.remove(item)
  expect(list.slice(0, Infinity)).toEqual([])
})

test('replacing returns whether there was an item', () => {
  const list = finish(OrderedList.over(order, [{ key: 1, id: 1 }]))
  expect(list.replace({ key: 1, id: 1 }, { key: 2, id: 1 })).toBe(true)
  expect(list.replace({ key: 1, id: 1 }, undefined)).toBe(false)
  expect(list.replace({ key: 9, id: 9 }, { key: 9, id: 9 })).toBe(false)
  expect(list.replace(undefined, { key: 0, id: 3 })).toBe(false)
  expect(list.slice(0, 9).map((item) => item.key)).toEqual([0, 2, 9])
})

test('finding among 100 000 items compares few of them', () => {
  let asked = 0
  const items = Array.from({ length: 100_000 }, (_, id) => ({ key: id, id }))
  const compareKeys = (a: unknown, b: unknown) => {
    asked += 1
    return Number(a) - Number(b)
  }
  const list = finish(OrderedList.over({ ...order, compareKeys }, items))
  list.remove({ key: 77_777, id: 77_777 })
  expect(asked).toBeLessThan(25)
})

test('finding costs depend on the current items only', () => {
  let asked = 0
  const compareKeys = (a: unknown, b: unknown) => {
    asked += 1
    return Number(a) - Number(b)
  }
  const list = finish(OrderedList.over({ ...order, compareKeys }, []))
  const item = (n: number) => ({ key: n, id: n })
  for (let n = 0; n < 100_000; n += 1) {
    list.add(item(n))
    list.remove(item(n - 1_000))
  }
  asked = 0
  list.remove(item(99_500))
  expect(asked).toBeLessThan(15)
})
