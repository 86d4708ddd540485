import { mockSyncServer } from 'instep/testing'
import { expect, test } from 'vitest'

test.each([8_000, 15_000])('with tokens of %d ms, the socket is open again at once', async (lifetimeMs) => {
  const server = mockSyncServer()
  const client = server.client({ identity: 'ada', token: () => server.token('ada', lifetimeMs) })
  await client.start()
  await server.settle()
  const states = new Map<string, number>()
  for (let times = 0; times < 3_000; times += 1) {
    await server.clock.advance(100)
    const { state } = client.status.connection
    states.set(state, (states.get(state) ?? 0) + 1)
  }
  expect(states.get('polling')).toBeUndefined()
  expect(states.get('offline')).toBeUndefined()
  expect(states.get('socket')).toBeGreaterThan(2_850)
  await server.close()
})

test('a server that closes each socket at once as unauthenticated is asked less and less often', async () => {
  const server = mockSyncServer()
  const client = server.client({ identity: 'ada', token: () => server.token('ada', 100) })
  await client.start()
  await server.clock.advance(60_000)
  const opened = server.requests.filter(({ endpoint }) => endpoint === 'ws').length
  expect(opened).toBeLessThan(25)
  await server.close()
})
