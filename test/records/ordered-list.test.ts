import { expect, test } from 'vitest'
import { OrderedList } from '../../src/records/ordered-list.ts'
import { runToEnd } from '../../src/records/turns.ts'

interface Item {
  readonly key: number
  readonly id: number
}

const order = {
  key: (item: Item) => item.key,
  compareKeys: (a: unknown, b: unknown) => Number(a) - Number(b),
  compareTies: (a: Item, b: Item) => a.id - b.id,
}

test('a part of the list can be emptied and filled again', () => {
  const items = Array.from({ length: 2_000 }, (_, id) => ({ key: id, id }))
  const [before, part, behind] = [items.slice(0, 300), items.slice(300, 1_700), items.slice(1_700)]
  const list = runToEnd(OrderedList.over(order, items))
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

test('finding among 100 000 items compares few of them', () => {
  let asked = 0
  const items = Array.from({ length: 100_000 }, (_, id) => ({ key: id, id }))
  const compareKeys = (a: unknown, b: unknown) => {
    asked += 1
    return Number(a) - Number(b)
  }
  const list = runToEnd(OrderedList.over({ ...order, compareKeys }, items))
  list.remove({ key: 77_777, id: 77_777 })
  expect(asked).toBeLessThan(25)
})

test('finding costs depend on the current items only', () => {
  let asked = 0
  const compareKeys = (a: unknown, b: unknown) => {
    asked += 1
    return Number(a) - Number(b)
  }
  const list = runToEnd(OrderedList.over({ ...order, compareKeys }, []))
  const item = (n: number) => ({ key: n, id: n })
  for (let n = 0; n < 100_000; n += 1) {
    list.add(item(n))
    list.remove(item(n - 1_000))
  }
  asked = 0
  list.remove(item(99_500))
  expect(asked).toBeLessThan(15)
})
