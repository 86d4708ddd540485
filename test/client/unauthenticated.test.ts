import { describe, expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { inStep, newDevice, notes } from '../support/test-backend.ts'

describe('a 401', () => {
  test('runs the handler once for a credential, pauses, and loses nothing', async () => {
    const errors: string[] = []
    const { backend, device, client } = await inStep(
      { 1: {} },
      { onUnauthenticated: (error) => errors.push(error.message) },
    )
    backend.server.revoke('ada')
    await device.clock.advance(5_000)
    await expect(device.clock.until(client.sync())).rejects.toMatchObject({ name: 'UnauthenticatedError' })
    await device.clock.advance(120_000)
    expect(errors).toHaveLength(1)
    expect(errors[0]).not.toContain(device.token)
    expect(client.status).toMatchObject({
      connection: { state: 'unauthenticated' },
      data: { state: 'stale' },
    })
    expect(notes(client)).toEqual({ 1: {} })
  })

  test('sends no request while it is paused', async () => {
    const { backend, device } = newDevice()
    device.token = 'wrong'
    await device.live()
    const asked = backend.requests.length
    await device.clock.advance(600_000)
    expect(backend.requests.length).toBe(asked)
  })

  test('uses a token from the handler at once', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1')
    const fresh = backend.server.token('ada')
    const client = await device.live({ token: 'stale', onUnauthenticated: async () => fresh })
    expect(notes(client)).toEqual({ 1: {} })
    expect(client.status.connection.state).toBe('socket')
  })

  test('is refreshing while the handler runs, and unauthenticated once that returns no token', async () => {
    const { backend, device, client } = await inStep(
      {},
      { onUnauthenticated: () => new Promise<void>((resolve) => device.clock.after(2_000, resolve)) },
    )
    const states: string[] = []
    client.on('status', ({ connection }) => states.push(connection.state))
    backend.server.expire('ada')
    await device.clock.advance(60_000)
    expect([...new Set(states)]).toEqual(['connecting', 'refreshing', 'unauthenticated'])
  })

  test('is unauthenticated at once without a handler', async () => {
    const { backend, device, client } = await inStep({}, { onUnauthenticated: undefined })
    const states: string[] = []
    client.on('status', ({ connection }) => states.push(connection.state))
    backend.server.expire('ada')
    await device.clock.advance(60_000)
    expect([...new Set(states)]).toEqual(['connecting', 'unauthenticated'])
  })

  test('of a token that `resume` has replaced meanwhile does not run the handler', async () => {
    let calls = 0
    const { backend, device, client } = await inStep({}, { onUnauthenticated: () => (calls += 1) })
    backend.server.revoke('ada')
    const refused = expect(client.sync()).rejects.toMatchObject({ name: 'UnauthenticatedError' })
    await device.clock.advance(10)
    client.resume(backend.server.token('ada'))
    await device.clock.advance(1_000)
    await refused
    expect(calls).toBe(0)
    expect(client.status.connection.state).toBe('socket')
  })

  test('ends with `resume`, with its token or one of the token function', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1')
    const good = device.token
    device.token = 'stale'
    const client = await device.live()
    expect(client.status.connection.state).toBe('unauthenticated')
    device.token = good
    client.resume()
    await device.clock.advance(1_000)
    expect(client.status.connection.state).toBe('socket')
    backend.server.revoke('ada')
    await device.clock.advance(5_000)
    expect(client.status.connection.state).toBe('unauthenticated')
    client.resume(backend.server.token('ada'))
    await device.clock.advance(1_000)
    expect(client.status.connection.state).toBe('socket')
  })

  test('changes to connecting after `resume`', async () => {
    const { backend, device, client } = await inStep({ 1: {} })
    backend.server.revoke('ada')
    await device.clock.advance(5_000)
    const seen: string[] = []
    client.on('status', ({ connection, data }) => seen.push(`${connection.state} ${data.state}`))
    client.resume(backend.server.token('ada'))
    await device.clock.advance(1_000)
    expect([...new Set(seen)]).toEqual(['connecting stale', 'connecting current', 'socket current'])
  })

  test('ends with a `resume` during a request with the old token', async () => {
    const { backend, device, client } = await inStep({ 1: {} })
    backend.server.revoke('ada')
    const sync = client.sync()
    const refused = expect(sync).rejects.toMatchObject({ name: 'UnauthenticatedError' })
    await device.clock.advance(30)
    device.token = backend.server.token('ada')
    client.resume()
    await device.clock.advance(1_000)
    await refused
    expect(client.status.connection.state).toBe('socket')
  })

  test('does not loop if the handler returns the same bad token', async () => {
    let calls = 0
    const { backend, device } = await inStep(
      {},
      {
        token: 'bad',
        onUnauthenticated: () => {
          calls += 1
          return 'bad'
        },
      },
    )
    await device.clock.advance(600_000)
    expect(calls).toBe(1)
    expect(backend.requests.length).toBeLessThan(10)
  })

  test('calls a handler that returns one bad token after another seldom, even with writes to send', async () => {
    let calls = 0
    const { backend, device, client } = await inStep(
      {},
      {
        onUnauthenticated: () => {
          calls += 1
          return `bad-${calls}`
        },
      },
    )
    backend.server.revoke('ada')
    client.mutate((m) => m.insert('Note', {}))
    await device.clock.advance(600_000)
    // Two that ask, each less and less often up to every 15 s.
    expect(calls).toBeGreaterThan(20)
    expect(calls).toBeLessThan(120)
    client.resume(backend.server.token('ada'))
    await device.clock.advance(1_000)
    expect(client.status.connection.state).not.toBe('unauthenticated')
  })

  test('over HTTP makes the socket wait for other credentials, and the status says why', async () => {
    let calls = 0
    const { backend, device, client } = await inStep(
      {},
      {
        onUnauthenticated: () => {
          calls += 1
          return `bad-${calls}`
        },
      },
    )
    const states = new Set<string>()
    client.on('status', ({ connection }) => states.add(connection.state))
    const before = backend.count('ws')
    backend.server.expire('ada')
    await device.clock.advance(600_000)
    expect(calls).toBeGreaterThan(20)
    expect(backend.count('ws')).toBe(before)
    expect([...states]).toEqual(['connecting', 'refreshing', 'unauthenticated'])
    client.resume(backend.server.token('ada'))
    await device.clock.advance(1_000)
    expect(client.status.connection.state).toBe('socket')
  })

  test('keeps the socket waiting if the next request fails for another reason', async () => {
    const { backend, device, client } = await inStep({}, { onUnauthenticated: () => 'second' })
    const before = backend.count('ws')
    backend.server.expire('ada')
    backend.server.wrong(401, { endpoint: 'bootstrap' })
    backend.server.wrong(503, { endpoint: 'bootstrap', times: 100 })
    await device.clock.advance(60_000)
    expect(client.status.connection.state).toBe('failed')
    expect(backend.count('ws')).toBe(before)
  })

  test('reports a handler that throws as an error, and calls it less and less often', async () => {
    const { backend, device } = newDevice()
    let calls = 0
    const client = await device.live({
      token: 'bad',
      onUnauthenticated: () => {
        calls += 1
        if (calls < 30) throw new Error('no network to refresh it by')
        return backend.server.token('ada')
      },
    })
    await device.clock.advance(60_000)
    expect(calls).toBeGreaterThan(5)
    expect(calls).toBeLessThan(20)
    expect(new Set(device.log)).toEqual(new Set(['error SyncError unexpected']))
    await device.clock.advance(600_000)
    expect(calls).toBe(30)
    expect(client.status.connection.state).toBe('socket')
  })

  test.each<[string, (client: SyncClient) => unknown]>([
    ['resume', (client) => client.resume()],
    ['start, after a stop,', (client) => client.stop().then(() => client.start())],
  ])('%s calls the handler again about a credential that was refused before', async (_, again) => {
    let calls = 0
    const { device, client } = await inStep({}, { token: 'bad', onUnauthenticated: () => (calls += 1) })
    await device.clock.until(Promise.resolve(again(client)))
    await device.clock.advance(1_000)
    expect(calls).toBe(2)
  })

  test('for a write is handled as for a read', async () => {
    let calls = 0
    const { backend, device, client } = await inStep({}, { onUnauthenticated: () => (calls += 1) })
    backend.server.wrong(401, { endpoint: 'tx', times: 100 })
    client.mutate((m) => m.insert('Note', {}))
    await device.clock.advance(1_000)
    expect(calls).toBe(1)
  })

  test('on the upgrade of a socket, which a browser cannot see, is detected over HTTP', async () => {
    let calls = 0
    const { backend, device, client } = await inStep(
      { 1: {} },
      {
        onUnauthenticated: () => {
          calls += 1
        },
      },
    )
    backend.server.expire('ada')
    await device.clock.advance(2_000)
    expect(calls).toBe(1)
    expect(client.status.connection.state).toBe('unauthenticated')
  })

  test('is not needed without a token: no request is sent, and the handler runs', async () => {
    let calls = 0
    const { backend } = await inStep(
      {},
      {
        token: () => null,
        onUnauthenticated: () => {
          calls += 1
        },
      },
    )
    expect({ calls, requests: backend.requests }).toEqual({ calls: 1, requests: [] })
  })
})

describe('credentials', () => {
  test('are read again for every request and every socket', async () => {
    const { backend, device } = newDevice()
    await backend.insert('1')
    let asked = 0
    const client = await device.live({
      token: () => {
        asked += 1
        return device.token
      },
    })
    const before = asked
    await device.clock.until(client.sync())
    expect(asked).toBe(before + 1)
    expect(asked).toBe(backend.requests.length)
  })

  test('invariant 48: a refreshed token drops no frame', async () => {
    const { backend, device, client } = await inStep(
      {},
      {
        onUnauthenticated: async () => {
          await new Promise<void>((resolve) => device.clock.after(1_000, resolve))
          return backend.server.token('ada')
        },
      },
    )
    backend.server.expire('ada')
    const written: string[] = []
    for (let n = 0; n < 60; n += 1) {
      written.push(`${n}`)
      await backend.insert(`${n}`)
      await device.clock.advance(50)
    }
    await device.clock.advance(1_000)
    expect(client.status.connection.state).toBe('socket')
    expect(Object.keys(notes(client)).sort()).toEqual(written.sort())
  })

  test('invariant 43: a refreshed token keeps everything: the same database, and a delta', async () => {
    const { backend, device } = await inStep({ 1: {} })
    await device.quit()
    device.token = backend.server.token('ada')
    const asked = backend.requests.length
    const client = await device.live()
    expect(backend.requests.slice(asked)).toEqual(['ws', 'delta 1', 'delta 1'])
    expect(notes(client)).toEqual({ 1: {} })
  })

  test('invariant 43: another identity has another database', async () => {
    const { device } = await inStep({ 1: {} })
    const client = await device.offline({ identity: 'ben' })
    expect(client.status.data.state).toBe('none')
  })
})
