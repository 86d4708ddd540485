import { expect, test } from 'vitest'
import { Source } from '../../src/react/source.ts'

test('what changes while nobody is subscribed is shown to whoever subscribes again, as a hidden part does', () => {
  const now = { n: 1 }
  const listeners = new Set<() => void>()
  const source = new Source({
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    read: () => {
      const { n } = now
      return { value: { n }, isCurrent: () => n === now.n }
    },
  })
  const first = source.get()
  source.subscribe(() => {})()
  expect(source.get()).toBe(first)
  now.n = 2
  source.subscribe(() => {})
  const second = source.get()
  expect([second, source.get() === second, listeners.size]).toEqual([{ n: 2 }, true, 1])
})
