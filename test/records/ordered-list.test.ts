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
