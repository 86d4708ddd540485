import { afterEach, beforeEach, expect, test } from 'vitest'
import { type MockSyncServer, mockSyncServer } from '../../src/testing/index.ts'
import { issue } from './scene.ts'

let server: MockSyncServer

beforeEach(() => {
  server = mockSyncServer({ clock: 'real' })
})

afterEach(() => server.close())

test('in real time a client is soon in step by itself', async () => {
  await server.write([issue('1')], 'ada')
  const client = server.client({ identity: 'ada' })
  await client.start()
  await client.ready()
  expect(client.count('Issue')).toBe(1)
  await server.settle()
  expect(client.status.connection.state).toBe('socket')
  await server.write([issue('2')], 'ada')
  await expect.poll(() => client.count('Issue')).toBe(2)
})

test('settle gives up after a while', async () => {
  server.never()
  await server.client({ identity: 'ada' }).start()
  await expect(server.settle({ limitMs: 200 })).rejects.toThrow('Not settled after 200 ms')
})

test('a server that is closed in the middle of work leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  server.late(60_000)
  const headers = { Authorization: `Bearer ${server.token('ada')}` }
  void server.fetch(new Request(`${server.baseUrl}/bootstrap`, { headers }))
  // Its answer waits now.
  while (timers() === before) await new Promise((resolve) => setImmediate(resolve))
  await server.client({ identity: 'ada' }).start()
  await server.close()
  expect(timers()).toBe(before)
})
