import { describe, expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { inStep, notes, TestBackend, type TestDevice } from '../support/test-backend.ts'

/** What `device` holds open. */
function left({ network, environment }: TestDevice) {
  return { sockets: network.sockets, calls: network.calls, listeners: environment.lifecycle.listeners }
}

/** Calls `act` once, when `client` is told to be `lifecycle`. */
function once(client: SyncClient, lifecycle: string, act: () => void): void {
  const off = client.on('status', (status) => {
    if (status.lifecycle !== lifecycle) return
    off()
    act()
  })
}

/** A device on whose disk a transaction waits to be sent. */
async function withOneToSend(backend: TestBackend): Promise<TestDevice> {
  const device = backend.device()
  const client = device.client()
  await client.start()
  client.mutate((m) => m.insert('Note', { id: 'n1', userId: 'ada' }))
  await device.kill()
  backend.received.length = 0
  return device
}

describe('a listener of the status that', () => {
  test.each([
    // The database stays open, and closes when the page freezes.
    ['stop', 1],
    ['close', 0],
  ] as const)('calls %s on a start leaves nothing running', async (end, listeners) => {
    const backend = new TestBackend()
    const device = await withOneToSend(backend)
    const client = device.client()
    once(client, 'running', () => void client[end]())
    await client.start()
    await backend.clock.advance(60_000)
    expect(client.status).toMatchObject({ connection: { state: 'idle' }, data: { state: 'none' } })
    expect(left(device)).toEqual({ sockets: 0, calls: 0, listeners })
    expect(backend.received).toEqual([])
  })

  test('calls start on a stop keeps the client running, and close ends it', async () => {
    const { backend, device, client } = await inStep()
    once(client, 'stopped', () => void client.start())
    await backend.clock.until(client.stop())
    client.mutate((m) => m.insert('Note', { id: 'mine', userId: 'ada' }))
    await backend.insert('theirs')
    await backend.clock.advance(10_000)
    expect(client.status).toMatchObject({ lifecycle: 'running', connection: { state: 'socket' } })
    expect(notes(client)).toEqual(await backend.rows())
    await backend.clock.until(client.close())
    await backend.clock.advance(100)
    expect(left(device)).toEqual({ sockets: 0, calls: 0, listeners: 0 })
  })
})

test.each(['stop', 'close'] as const)(
  'a token function that calls %s at its first call causes no request',
  async (end) => {
    const backend = new TestBackend()
    const device = await withOneToSend(backend)
    let asked = 0
    const client: SyncClient = device.client({
      token: () => {
        asked += 1
        if (asked === 1) void client[end]()
        return 'ada'
      },
    })
    await client.start()
    await backend.clock.advance(60_000)
    expect(client.status.connection).toEqual({ state: 'idle' })
    expect(backend.received).toEqual([])
  },
)

test('a listener that writes each time it is called ends in an error, and the client goes on', async () => {
  const { backend, client } = await inStep()
  const codes: string[] = []
  client.on('error', ({ code }) => codes.push(code))
  let isLooping = true
  client.query('Note', {}).subscribe(() => {
    if (isLooping) client.mutate((m) => m.insert('Note', {}))
  })
  client.mutate((m) => m.insert('Note', { id: '1' }))
  expect(codes).toEqual(['listener_loop'])
  isLooping = false
  await backend.clock.until(client.mutate((m) => m.insert('Note', { id: '2' })).synced)
  expect(Object.keys(await backend.rows())).toHaveLength(client.all('Note').length)
})
