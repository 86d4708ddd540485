import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { mockSyncServer } from '../../src/testing/index.ts'
import { issue } from './scene.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

test("a runner's fake timers neither stop the server nor are touched by it", async () => {
  const server = mockSyncServer()
  await server.write([issue('1')], 'ada')
  const client = server.client({ identity: 'ada' })
  await client.start()
  await server.settle()
  expect(client.count('Issue')).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
  await server.close()
})
