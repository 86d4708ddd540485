import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { inStep, newDevice, notes } from '../support/test-backend.ts'

describe('a client', () => {
  test('does nothing before start', async () => {
    const { backend, device } = newDevice()
    const client = device.client()
    await device.clock.advance(60_000)
    expect(backend.requests).toEqual([])
    expect(client.status).toMatchObject({
      lifecycle: 'idle',
      data: { state: 'none' },
      connection: { state: 'idle' },
    })
  })

  test('bootstraps, opens a socket, and shows pushed changes', async () => {
    const { backend, device, client } = await inStep({ 1: { title: 'one' } })
    expect(notes(client)).toEqual({ 1: { title: 'one' } })
    expect(client.status).toMatchObject({
      lifecycle: 'running',
      data: { state: 'current' },
      connection: { state: 'socket' },
      lastSyncId: 1,
    })
    await backend.insert('2')
    await device.clock.advance(100)
    expect(Object.keys(notes(client))).toEqual(['1', '2'])
  })

  test('never reports its first data as stale', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1')
    const client = device.client()
    const moments: number[] = []
    client.on('status', ({ data }) => {
      if ('asOf' in data) moments.push(data.asOf)
    })
    const startedAt = device.clock.now()
    await client.start()
    await device.clock.advance(1_000)
    expect(moments.length).toBeGreaterThan(0)
    expect(Math.min(...moments)).toBeGreaterThan(startedAt)
  })

  test('started, stopped and started in one turn opens one socket', async () => {
    const { backend, device } = newDevice()
    const client = device.client()
    const all = [client.start(), client.stop(), client.start()]
    await device.clock.advance(1_000)
    await Promise.all(all)
    expect(backend.count('ws')).toBe(1)
  })

  test('still reads, but sends no request, while it is stopped', async () => {
    const { backend, device, client } = await inStep({ 1: {} })
    await device.clock.until(client.stop())
    const asked = backend.requests.length
    await backend.insert('2')
    await device.clock.advance(120_000)
    expect(backend.requests.length).toBe(asked)
    expect(Object.keys(notes(client))).toEqual(['1'])
    expect(client.status).toMatchObject({ lifecycle: 'stopped', connection: { state: 'idle' } })
    await client.start()
    expect(client.status.connection).toEqual({ state: 'connecting' })
    await device.clock.advance(1_000)
    expect(Object.keys(notes(client))).toEqual(['1', '2'])
  })

  test('leaves no timer, request, socket or listener after close', async () => {
    const { backend, device, client } = await inStep()
    await device.clock.until(client.close())
    await device.clock.advance(100)
    expect(device.network).toMatchObject({ calls: 0, sockets: 0 })
    await backend.server.close()
    expect(device.clock.timers).toBe(0)
    expect(device.environment.lifecycle.listeners).toBe(0)
    await expect(client.start()).rejects.toMatchObject({ name: 'ClosedError' })
    await expect(client.sync()).rejects.toMatchObject({ name: 'ClosedError' })
    await expect(client.ready()).rejects.toMatchObject({ name: 'ClosedError' })
    await client.close()
  })

  test('start never waits for the network', async () => {
    const { device } = newDevice()
    device.network.blackHole()
    await device.client().start()
  })
})

describe('ready', () => {
  test('resolves when there is data', async () => {
    const { device } = newDevice()
    const client = device.client()
    const ready = client.ready()
    await client.start()
    await device.clock.until(ready)
    expect(client.status.data.state).toBe('current')
  })

  test('leaves no listener behind on its signal', async () => {
    const { client } = await inStep()
    const { signal } = new AbortController()
    await client.ready({ signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('stays pending offline, and rejects on close', async () => {
    const { device } = newDevice()
    device.network.cut()
    const client = device.client()
    let settled = false
    const ready = client.ready().finally(() => {
      settled = true
    })
    const outcome = expect(ready).rejects.toMatchObject({ name: 'ClosedError' })
    await client.start()
    await device.clock.advance(60_000)
    expect(settled).toBe(false)
    await device.clock.until(client.close())
    await outcome
  })

  test('rejects with the reason of its signal', async () => {
    const { device } = newDevice()
    const abort = new AbortController()
    const ready = device.client().ready({ signal: abort.signal })
    abort.abort(new Error('enough'))
    await expect(ready).rejects.toThrow('enough')
  })
})

describe('sync', () => {
  test('works before start: a bootstrap first, then deltas', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1')
    const client = device.client()
    expect(await device.clock.until(client.sync())).toEqual({ kind: 'bootstrap', sid: 1, changes: 1 })
    await backend.insert('2')
    expect(await device.clock.until(client.sync())).toEqual({ kind: 'delta', sid: 2, changes: 1 })
    expect(backend.requests).toEqual(['bootstrap', 'delta 1'])
    expect(client.status).toMatchObject({ lifecycle: 'idle', connection: { state: 'idle' }, lastSyncId: 2 })
  })

  test('of a client that does not run leaves no timer behind', async () => {
    const { device } = newDevice()
    const client = device.client()
    await device.clock.until(client.sync())
    expect(device.clock.timers).toBe(0)
  })

  test('shares one request', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1')
    const client = device.client()
    const [one, other] = await device.clock.until(Promise.all([client.sync(), client.sync()]))
    expect(one).toBe(other)
    expect(backend.requests).toEqual(['bootstrap'])
  })

  test('resolves with durable data: an offline restart shows it', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1', { title: 'one' })
    const client = device.client()
    await device.clock.until(client.sync())
    await backend.update('1', { title: 'two' })
    await device.clock.until(client.sync())
    const again = await device.offline()
    expect(notes(again)).toEqual({ 1: { title: 'two' } })
    expect(again.lastSyncId).toBe(2)
  })

  test('rejects if the server cannot be reached, and leaves the data unchanged', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1')
    const client = device.client()
    await device.clock.until(client.sync())
    device.network.cut()
    await expect(device.clock.until(client.sync())).rejects.toMatchObject({ name: 'NetworkError' })
    expect(Object.keys(notes(client))).toEqual(['1'])
  })

  test('rejects when the client is stopped', async () => {
    const { device } = newDevice()
    const client = device.client()
    const sync = client.sync()
    const outcome = expect(sync).rejects.toMatchObject({ name: 'NetworkError', code: 'stopped' })
    await device.clock.until(client.stop())
    await outcome
  })
})
