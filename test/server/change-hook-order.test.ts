import { expect, test } from 'vitest'
import { Turns } from '../../src/server/log/sql/turns.ts'

test('jobs run in the order of their turns, however late one is ready', () => {
  const turns = new Turns()
  const done: string[] = []
  const [first, second, third] = [turns.take(), turns.take(), turns.take()]
  third(() => done.push('third'))
  second(() => done.push('second'))
  expect(done).toEqual([])
  first(() => done.push('first'))
  expect(done).toEqual(['first', 'second', 'third'])
  turns.take()(() => done.push('fourth'))
  expect(done.at(-1)).toBe('fourth')
})
