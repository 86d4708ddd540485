import { expect, test } from 'vitest'
import { readResult } from '../../src/react/query-result.ts'
import { Source } from '../../src/react/source.ts'
import { ownServer } from '../support/own-server.ts'

test('changes without a subscriber are shown to the next one, as in a hidden part of the page', () => {
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

test('a query that becomes ready without rows before anybody subscribes has another result then', async () => {
  const server = ownServer()
  const client = server.client({ identity: 'ada' })
  const query = client.query('Issue')
  const source = new Source({
    subscribe: (listener) => query.subscribe(listener),
    read: () => readResult(query),
  })
  const first = source.get()
  expect([first.status, first.rows, source.get()]).toEqual(['pending', [], first])
  await client.start()
  await server.settle()
  source.subscribe(() => {})
  expect([source.get() === first, source.get().status]).toEqual([false, 'ready'])
})
