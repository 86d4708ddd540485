import { expect, test } from 'vitest'
import { browser, idsIn, rolesOf } from './browser.ts'

const denied = () => new DOMException('Access is denied.', 'SecurityError')

class NoChannel {
  constructor() {
    throw denied()
  }
}

/** What a browser may have, though it does not work in this page. */
const broken = {
  'the channel': { BroadcastChannel: NoChannel as never },
  'every lock': { locks: { request: () => Promise.reject(denied()) } },
  'channel and locks': {
    BroadcastChannel: NoChannel as never,
    locks: {
      request: () => {
        throw denied()
      },
    },
  },
}

test.each(Object.entries(broken))('a client works where the browser refuses %s', async (_, environment) => {
  const { open, server, insert } = await browser()
  const tab = await open({ environment })
  const errors: unknown[] = []
  tab.client.on('error', (error) => errors.push(error))
  await insert('i1')
  tab.client.mutate((m) => m.insert('Item', { id: 'i2' }))
  await server.clock.advance(60_000)
  expect(idsIn(tab)).toEqual(['i0', 'i1', 'i2'])
  expect(tab.client.status).toMatchObject({ role: 'leader', storage: { kind: 'durable' } })
  expect(errors).toEqual([])
  await server.close()
})

test.each(Object.entries(broken))('two tabs agree where the browser refuses %s', async (_, environment) => {
  const { open, server, front, asked, insert } = await browser()
  const errors: unknown[] = []
  const tabs = [await open({ environment }), await open({ environment })] as const
  for (const { client } of tabs) client.on('error', (error) => errors.push(error))
  await front(tabs[0])
  await insert('i1')
  await server.clock.advance(60_000)
  expect(tabs.map(idsIn)).toEqual([
    ['i0', 'i1'],
    ['i0', 'i1'],
  ])
  expect(rolesOf(...tabs).filter((role) => role === 'leader')).toHaveLength(1)
  expect(errors).toEqual([])
  expect(asked('delta') + asked('bootstrap')).toBeLessThan(20)
  await server.close()
})

test('`start` ends, and the data is shown, where the browser never grants or refuses a lock', async () => {
  const { idle, server } = await browser()
  const client = idle({ environment: { locks: { request: () => new Promise(() => {}) } } })
  let hasStarted = false
  void client.start().then(() => {
    hasStarted = true
  })
  await server.clock.advance(10_000)
  expect(hasStarted).toBe(true)
  await server.settle()
  expect(client.get('Item', 'i0')).toBeDefined()
  expect(client.status.storage.kind).toBe('durable')
  await server.close()
})

test('a new token is fetched where the browser never grants or refuses a lock', async () => {
  const { idle, server } = await browser()
  let calls = 0
  const client = idle({
    environment: { locks: { request: () => new Promise(() => {}) } },
    token: () => 'wrong',
    onUnauthenticated: () => {
      calls += 1
      return server.token('ada')
    },
  })
  void client.start()
  await server.clock.advance(60_000)
  expect(calls).toBe(1)
  expect(client.get('Item', 'i0')).toBeDefined()
  await server.close()
})
