import { describe, expect, test } from 'vitest'
import { inStep, newDevice, notes } from '../support/test-backend.ts'

describe('offline', () => {
  test('is reported with the time of the next try, and ends with catching up', async () => {
    const { backend, device, client } = await inStep({ 1: {} })
    device.network.cut()
    // The socket is gone at once; what else is, its next opening tells.
    await device.clock.advance(4_500)
    expect(client.status).toMatchObject({ data: { state: 'stale' }, connection: { state: 'offline' } })
    const { connection } = client.status
    expect(connection.state === 'offline' && connection.retryAt).toBeGreaterThan(device.clock.now())
    await backend.insert('2')
    device.network.mend()
    await device.clock.advance(40_000)
    expect(client.status).toMatchObject({ data: { state: 'current' }, connection: { state: 'socket' } })
    expect(notes(client)).toEqual({ 1: {}, 2: {} })
    expect(device.log).toEqual([])
  })

  test('a restart shows the stored data at once, as stale', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1', { title: 'one' })
    const before = await device.live()
    await backend.insert('2')
    await device.clock.advance(1_000)
    const { data } = before.status
    await device.quit()
    device.network.cut()
    await device.clock.advance(3_600_000)
    const client = device.client()
    await client.start()
    expect(notes(client)).toEqual({ 1: { title: 'one' }, 2: {} })
    expect(client.status).toMatchObject({ data: { ...data, state: 'stale' }, lastSyncId: 2 })
    await client.ready()
  })

  test('a restart continues with a delta, not a bootstrap', async () => {
    const { backend, device } = await inStep({ 1: {} })
    await device.quit()
    await backend.insert('2')
    const asked = backend.requests.length
    const client = await device.live()
    expect(backend.requests.slice(asked)).toEqual(['ws', 'delta 1', 'delta 2'])
    expect(notes(client)).toEqual({ 1: {}, 2: {} })
  })

  test('an empty copy is remembered as bootstrapped', async () => {
    const { device } = await inStep()
    const client = await device.offline()
    expect(client.status).toMatchObject({ data: { state: 'stale' }, lastSyncId: 0 })
    await client.ready()
  })

  test('waits grow up to a limit, and are random', async () => {
    const { device } = newDevice()
    device.network.cut()
    const client = device.client()
    let tries = 0
    client.on('status', ({ connection }) => {
      if (connection.state === 'offline' && connection.retryAt !== undefined) tries += 1
    })
    await client.start()
    await device.clock.advance(600_000)
    expect(tries).toBeGreaterThan(20)
    expect(tries).toBeLessThan(120)
  })
})

describe('without a usable store', () => {
  test('invariant 34: a client goes on in memory, and the status says so', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1')
    const unavailable = { ...device.store, open: () => Promise.reject(new Error('private mode')) }
    const client = await device.live({ store: { ...unavailable, kind: 'durable' } })
    expect(client.status.storage).toEqual({
      kind: 'memory',
      reason: expect.stringContaining('private mode'),
    })
    expect(notes(client)).toEqual({ 1: {} })
    expect(client.status.connection.state).toBe('socket')
  })

  test('with the identity null nothing is stored', async () => {
    const { device, client } = await inStep({ 1: {} }, { identity: null })
    expect(client.status.storage).toEqual({ kind: 'memory' })
    const again = await device.offline({ identity: null })
    expect(again.status.data.state).toBe('none')
  })
})

describe('two clients on one database', () => {
  test('the later one stores the data, and the other shows it', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1')
    const first = await device.live()
    const second = await device.live()
    await backend.insert('2')
    await device.clock.advance(2_000)
    expect(notes(first)).toEqual({ 1: {}, 2: {} })
    expect(notes(second)).toEqual({ 1: {}, 2: {} })
    expect(first.status.role).toBe('follower')
    expect(second.status.role).toBe('leader')
    const again = await device.offline()
    expect(notes(again)).toEqual({ 1: {}, 2: {} })
  })
})
