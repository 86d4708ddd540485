import { describe, expect, test } from 'vitest'
import type { WebSocketConstructor } from '../../src/base/environment.ts'
import { linkSetup } from '../support/test-realtime-socket.ts'
import { settle } from '../support/virtual.ts'

describe('a socket that opens', () => {
  test('sends the token in the query if a socket cannot send headers', async () => {
    const { socket, sockets } = linkSetup({ credentials: { token: 'a+b/c=' } })
    socket.start()
    await settle()
    expect(sockets.last.url).toBe('wss://api.test/ws?v=1&token=a%2Bb%2Fc%3D')
    expect(sockets.last.headers).toBeUndefined()
  })

  test.each([
    [{ token: 's3cret' }, { Authorization: 'Bearer s3cret' }],
    [{ apiKey: 's3cret' }, { 'X-API-Key': 's3cret' }],
    [{}, {}],
  ])('sends %j in a header if it can', async (credentials, headers) => {
    const { socket, sockets } = linkSetup({ credentials, sendsHeaders: true })
    socket.start()
    await settle()
    expect([sockets.last.url, sockets.last.headers]).toEqual(['wss://api.test/ws?v=1', headers])
  })

  test('opens no socket with an API key without headers, or without WebSocket', async () => {
    for (const options of [{ credentials: { apiKey: 'k' } }, { environment: { WebSocket: undefined } }]) {
      const { socket, sockets, lifecycle, clock } = linkSetup(options)
      socket.start()
      await settle()
      expect(socket.state).toEqual({ name: 'off' })
      expect([sockets.all.length, lifecycle.listeners, clock.timers]).toEqual([0, 0, 0])
      socket.stop()
    }
  })

  test('sends the current credentials each time', async () => {
    let calls = 0
    const { open, socket, sockets } = linkSetup({ credentials: { token: () => `t${++calls}` } })
    await open()
    socket.renew()
    await settle()
    expect(sockets.all.map(({ url }) => url.slice(-8))).toEqual(['token=t1', 'token=t2'])
  })
})

describe('an open socket', () => {
  test('reports a loss with its code, and waits before the next try', async () => {
    const { open, retry, sockets, log, socket } = linkSetup()
    await open()
    sockets.last.dies(1012)
    expect(log).toEqual(['opened', 'lost open 1012'])
    expect(socket.state).toMatchObject({ name: 'waiting', failures: 1 })
    await retry()
    expect([socket.state.name, sockets.live.length]).toEqual(['opening', 1])
  })

  test('is replaced at once by `renew`, and its later events are ignored', async () => {
    const { open, socket, sockets, log } = linkSetup()
    await open()
    const old = sockets.last
    socket.renew()
    expect(log.splice(0)).toEqual(['opened', 'lost open 0'])
    await settle()
    expect([old.closed, sockets.all.length, socket.state.name]).toEqual([true, 2, 'opening'])
    old.says('late')
    old.dies()
    sockets.last.opens()
    expect(log).toEqual(['opened'])
  })
})

describe('start and stop', () => {
  test('credentials that fail after a stop do not affect a later start', async () => {
    const fails: ((error: Error) => void)[] = []
    const token = () => new Promise<string>((_, reject) => fails.push(reject))
    const { socket, log } = linkSetup({ credentials: { token } })
    socket.start()
    await settle()
    socket.stop()
    socket.start()
    await settle()
    fails[0]?.(new Error('late'))
    await settle()
    expect([fails.length, socket.state.name, log]).toEqual([2, 'opening', []])
  })
})

describe('an attempt that fails', () => {
  test('waits longer each time, even if a socket opens, sends something and closes', async () => {
    const { socket, sockets, retry, log } = linkSetup()
    socket.start()
    await settle()
    for (const failures of [1, 2, 3]) {
      sockets.last.dies()
      expect(socket.state).toMatchObject({ name: 'waiting', failures })
      await retry()
    }
    sockets.last.opens()
    sockets.last.says('hello')
    sockets.last.dies()
    expect(socket.state).toMatchObject({ failures: 4 })
    expect(log.slice(0, 3)).toEqual(Array(3).fill('lost opening 1006'))
  })

  test('does not count any more once a socket was open for a while', async () => {
    const { socket, sockets, clock } = linkSetup()
    socket.start()
    await settle()
    sockets.last.dies()
    await clock.advance(1_000)
    sockets.last.opens()
    await clock.advance(9_999)
    expect(socket.state).toMatchObject({ failures: 1 })
    await clock.advance(1)
    expect(socket.state).toMatchObject({ failures: 0 })
  })

  test('times out after 15 s', async () => {
    const { socket, sockets, clock, log } = linkSetup()
    socket.start()
    await clock.advance(14_999)
    expect(socket.state.name).toBe('opening')
    await clock.advance(1)
    expect([socket.state.name, sockets.last.closed, log]).toEqual(['waiting', true, ['lost opening 0']])
  })

  test('without credentials, or with credentials that fail or hang, counts as a loss', async () => {
    const sources = [
      () => null,
      () => Promise.reject(new Error('refresh')),
      () => new Promise<never>(() => {}),
    ]
    for (const token of sources) {
      const { socket, sockets, clock, log } = linkSetup({ credentials: { token } })
      socket.start()
      await clock.advance(15_000)
      expect(log[0]).toBe('lost opening 0')
      expect(sockets.all).toHaveLength(0)
      socket.stop()
      expect(clock.timers).toBe(0)
    }
  })

  test('because the constructor throws counts as a loss', async () => {
    const WebSocket = class {
      constructor(url: string) {
        throw new SyntaxError(`The URL '${url}' is invalid.`)
      }
    } as unknown as WebSocketConstructor
    const { socket, log } = linkSetup({ environment: { WebSocket } })
    socket.start()
    await settle()
    expect([socket.state.name, log]).toEqual(['waiting', ['lost opening 0']])
  })
})

describe('the environment', () => {
  test.each([{ online: true }, { visible: true }])('%j: a wait ends at once', async (change) => {
    const { socket, sockets, lifecycle } = linkSetup()
    lifecycle.set({ online: false, visible: false })
    socket.start()
    await settle()
    sockets.last.dies()
    expect(socket.state.name).toBe('waiting')
    lifecycle.set(change)
    await settle()
    expect([socket.state.name, sockets.all.length]).toEqual(['opening', 2])
  })

  test('offline closes nothing; a later online renews the socket', async () => {
    const { open, socket, sockets, lifecycle, log } = linkSetup()
    await open()
    lifecycle.set({ online: false })
    expect([socket.state.name, sockets.last.closed]).toEqual(['open', false])
    lifecycle.set({ online: true })
    await settle()
    expect([socket.state.name, sockets.all.length, sockets.live.length]).toEqual(['opening', 2, 1])
    expect(log).toEqual(['opened', 'lost open 0'])
  })

  test('a socket that opened while the network was reported as offline is kept', async () => {
    const { open, sockets, lifecycle } = linkSetup()
    lifecycle.set({ online: false })
    await open()
    lifecycle.set({ online: true })
    await settle()
    expect(sockets.all).toHaveLength(1)
  })
})
