import { expect, test } from 'vitest'
import { Disposer } from '../../src/base/disposer.ts'

test('what was added is undone once, the last first', () => {
  const log: string[] = []
  const disposer = new Disposer()
  disposer.add(() => log.push('a'))
  disposer.add(() => log.push('b'))
  disposer.dispose()
  disposer.dispose()
  expect(log).toEqual(['b', 'a'])
})

test('what is added afterwards, or by an undo, is undone at once', () => {
  const log: string[] = []
  const disposer = new Disposer()
  disposer.add(() => log.push('first'))
  disposer.add(() => disposer.add(() => log.push('inner')))
  disposer.dispose()
  disposer.add(() => log.push('late'))
  expect(log).toEqual(['inner', 'first', 'late'])
})
