import { expect, test } from 'vitest'
import { Mirror } from '../../src/tanstack-db/mirror.ts'

const row = (id: string) => ({ id })

test('an unchanged object is not written again', () => {
  const mirror = new Mirror<{ readonly id: string }>()
  const [a, b, c] = [row('a'), row('b'), row('c')]
  expect(mirror.replace([a, b])).toEqual([
    { type: 'update', value: a },
    { type: 'update', value: b },
  ])
  expect(mirror.replace([a, b])).toEqual([])
  expect(mirror.set('a', a)).toEqual([])
  const other = row('b')
  expect(mirror.replace([c, other])).toEqual([
    { type: 'delete', key: 'a' },
    { type: 'update', value: c },
    { type: 'update', value: other },
  ])
  expect(mirror.set('a', undefined)).toEqual([])
})

test('a flat record is passed on as it is, and a nested one as a copy', () => {
  const mirror = new Mirror<{ readonly id: string; readonly labels: readonly string[] | null }>()
  const [flat, nesting] = [
    { id: 'a', labels: null },
    { id: 'b', labels: ['urgent'] },
  ]
  const given = mirror.replace([flat, nesting]).map((write) => write.type === 'update' && write.value)
  expect(given).toEqual([flat, nesting])
  expect([given[0] === flat, given[1] === nesting]).toEqual([true, false])
})
