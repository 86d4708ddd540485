import { describe, expect, test } from 'vitest'
import type { WebSocketConstructor } from '../../src/base/environment.ts'
import { linkSetup } from '../support/transport-link.ts'
import { settle } from '../support/virtual-clock.ts'

describe('how it opens', () => {
  test('with the token in the query where a socket cannot send headers', async () => {
    const { link, sockets } = linkSetup({ credentials: { token: 'a+b/c=' } })
    link.start()
    await settle()
    expect(sockets.last.url).toBe('wss://api.test/ws?v=1&token=a%2Bb%2Fc%3D')
    expect(sockets.last.headers).toBeUndefined()
  })

  test.each([
    [{ token: 's3cret' }, { Authorization: 'Bearer s3cret' }],
    [{ apiKey: 's3cret' }, { 'X-API-Key': 's3cret' }],
    [{}, {}],
  ])('with %j in a header where it can', async (credentials, headers) => {
    const { link, sockets } = linkSetup({ credentials, sendsHeaders: true })
    link.start()
    await settle()
    expect([sockets.last.url, sockets.last.headers]).toEqual(['wss://api.test/ws?v=1', headers])
  })

  test('without anything where cookies speak for the client', async () => {
    const { link, sockets } = linkSetup({ credentials: {} })
    link.start()
    await settle()
    expect(sockets.last.url).toBe('wss://api.test/ws?v=1')
  })

  test('not at all with an API key and no headers, or without sockets', async () => {
    for (const options of [{ credentials: { apiKey: 'k' } }, { world: { WebSocket: undefined } }]) {
      const { link, sockets, lifecycle, clock } = linkSetup(options)
      link.start()
      await settle()
      expect(link.state).toEqual({ name: 'off' })
      expect([sockets.all.length, lifecycle.listeners, clock.timers]).toEqual([0, 0, 0])
      link.stop()
    }
  })

  test('with the credentials of the moment, each time', async () => {
    let calls = 0
    const { open, link, sockets } = linkSetup({ credentials: { token: () => `t${++calls}` } })
    await open()
    link.renew()
    await settle()
    expect(sockets.all.map(({ url }) => url.slice(-8))).toEqual(['token=t1', 'token=t2'])
  })

  test('has no effect before start', () => {
    const { link, clock, lifecycle } = linkSetup()
    link.renew()
    link.stop()
    link.expectHeartbeat(1_000)
    expect([link.state.name, clock.timers, lifecycle.listeners]).toEqual(['off', 0, 0])
  })
})

describe('while it is open', () => {
  test('it tells what comes, as it comes', async () => {
    const { open, sockets, log, link } = linkSetup()
    await open()
    sockets.last.says('a')
    sockets.last.says(5)
    expect(log).toEqual(['opened', 'message a', 'message 5'])
    expect(link.state).toMatchObject({ name: 'open' })
  })

  test('a loss is told with its code, and the next try waits', async () => {
    const { open, retry, sockets, log, link } = linkSetup()
    await open()
    sockets.last.dies(1012)
    expect(log).toEqual(['opened', 'lost open 1012'])
    expect(link.state).toMatchObject({ name: 'waiting', failures: 1 })
    await retry()
    expect([link.state.name, sockets.live.length]).toEqual(['opening', 1])
  })

  test('renew closes the socket and opens another at once; the old one is heard no more', async () => {
    const { open, link, sockets, log } = linkSetup()
    await open()
    const old = sockets.last
    link.renew()
    expect(log.splice(0)).toEqual(['opened', 'lost open 0'])
    await settle()
    expect([old.closed, sockets.all.length, link.state.name]).toEqual([true, 2, 'opening'])
    old.says('late')
    old.dies()
    sockets.last.opens()
    expect(log).toEqual(['opened'])
  })

  test('a stop closes the socket and tells nothing; the closing handshake may never end', async () => {
    const { open, link, sockets, log, clock, lifecycle } = linkSetup()
    await open()
    link.expectHeartbeat(5_000)
    const old = sockets.last
    link.stop()
    expect([old.closed, link.state.name]).toEqual([true, 'off'])
    old.says('late')
    old.dies()
    expect(log).toEqual(['opened'])
    expect([clock.timers, lifecycle.listeners]).toEqual([0, 0])
  })
})

describe('start and stop', () => {
  test('stop and start in one tick make one socket', async () => {
    const { link, sockets } = linkSetup()
    link.start()
    link.stop()
    link.start()
    link.start()
    await settle()
    expect(sockets.all).toHaveLength(1)
  })

  test('a stop while credentials are got makes no socket', async () => {
    const { link, sockets, clock } = linkSetup()
    link.start()
    link.stop()
    await settle()
    expect([sockets.all.length, clock.timers]).toEqual([0, 0])
  })

  test('credentials that fail after a stop do nothing to what was started since', async () => {
    const fails: ((error: Error) => void)[] = []
    const token = () => new Promise<string>((_, reject) => fails.push(reject))
    const { link, log } = linkSetup({ credentials: { token } })
    link.start()
    await settle()
    link.stop()
    link.start()
    await settle()
    fails[0]?.(new Error('late'))
    await settle()
    expect([fails.length, link.state.name, log]).toEqual([2, 'opening', []])
  })

  test('a stop while it opens lets the socket go', async () => {
    const { link, sockets, log } = linkSetup()
    link.start()
    await settle()
    link.stop()
    sockets.last.opens()
    expect([sockets.last.closed, log, link.state.name]).toEqual([true, [], 'off'])
  })

  test('a socket that was let go while it opened is not taken for the next one', async () => {
    const { link, sockets, log, clock } = linkSetup()
    link.start()
    await settle()
    link.stop()
    link.start()
    await settle()
    sockets.all[0]?.opens()
    expect([link.state.name, log]).toEqual(['opening', []])
    await clock.advance(15_000)
    expect(log).toEqual(['lost opening 0'])
  })

  test('what was started again hears of its surroundings', async () => {
    const { link, open, sockets, lifecycle } = linkSetup()
    link.start()
    link.stop()
    await open()
    expect(lifecycle.listeners).toBe(1)
    lifecycle.set({ online: false })
    lifecycle.set({ online: true })
    await settle()
    expect(sockets.all).toHaveLength(2)
    link.start()
    link.stop()
    expect(lifecycle.listeners).toBe(0)
  })

  test('the listener may stop the link from within', async () => {
    const made = linkSetup()
    await made.open()
    made.log.push = (...lines) => {
      made.link.stop()
      return lines.length
    }
    made.sockets.last.dies()
    expect([made.link.state.name, made.clock.timers]).toEqual(['off', 0])
  })
})

describe('an attempt that fails', () => {
  test('waits longer each time, also where a socket opens, says something and closes', async () => {
    const { link, sockets, retry, log } = linkSetup()
    link.start()
    await settle()
    for (const failures of [1, 2, 3]) {
      sockets.last.dies()
      expect(link.state).toMatchObject({ name: 'waiting', failures })
      await retry()
    }
    sockets.last.opens()
    sockets.last.says('hello')
    sockets.last.dies()
    expect(link.state).toMatchObject({ failures: 4 })
    expect(log.slice(0, 3)).toEqual(Array(3).fill('lost opening 1006'))
  })

  test('counts no more once a socket has been open for a while', async () => {
    const { link, sockets, clock } = linkSetup()
    link.start()
    await settle()
    sockets.last.dies()
    await clock.advance(1_000)
    sockets.last.opens()
    await clock.advance(9_999)
    expect(link.state).toMatchObject({ failures: 1 })
    await clock.advance(1)
    expect(link.state).toMatchObject({ failures: 0 })
  })

  test('has 15 s; then the socket is let go and the next one is waited for', async () => {
    const { link, sockets, clock, log } = linkSetup()
    link.start()
    await clock.advance(14_999)
    expect(link.state.name).toBe('opening')
    await clock.advance(1)
    expect([link.state.name, sockets.last.closed, log]).toEqual(['waiting', true, ['lost opening 0']])
  })

  test('for want of credentials, or because getting them fails or hangs, is lost like any other', async () => {
    const sources = [
      () => null,
      () => Promise.reject(new Error('refresh')),
      () => new Promise<never>(() => {}),
    ]
    for (const token of sources) {
      const { link, sockets, clock, log } = linkSetup({ credentials: { token } })
      link.start()
      await clock.advance(15_000)
      expect(log[0]).toBe('lost opening 0')
      expect(sockets.all).toHaveLength(0)
      link.stop()
      expect(clock.timers).toBe(0)
    }
  })

  test('because the constructor throws is lost like any other', async () => {
    const WebSocket = class {
      constructor(url: string) {
        throw new SyntaxError(`The URL '${url}' is invalid.`)
      }
    } as unknown as WebSocketConstructor
    const { link, log } = linkSetup({ world: { WebSocket } })
    link.start()
    await settle()
    expect([link.state.name, log]).toEqual(['waiting', ['lost opening 0']])
  })
})

describe('the surroundings', () => {
  test.each([{ online: true }, { visible: true }])('%j: a wait ends at once', async (change) => {
    const { link, sockets, lifecycle } = linkSetup()
    lifecycle.set({ online: false, visible: false })
    link.start()
    await settle()
    sockets.last.dies()
    expect(link.state.name).toBe('waiting')
    lifecycle.set(change)
    await settle()
    expect([link.state.name, sockets.all.length]).toEqual(['opening', 2])
  })

  test('offline alone closes nothing; online after it renews the socket', async () => {
    const { open, link, sockets, lifecycle, log } = linkSetup()
    await open()
    lifecycle.set({ online: false })
    expect([link.state.name, sockets.last.closed]).toEqual(['open', false])
    lifecycle.set({ online: true })
    await settle()
    expect([link.state.name, sockets.all.length, sockets.live.length]).toEqual(['opening', 2, 1])
    expect(log).toEqual(['opened', 'lost open 0'])
  })

  test('a socket that opened while the network was said to be away is kept', async () => {
    const { open, sockets, lifecycle } = linkSetup()
    lifecycle.set({ online: false })
    await open()
    lifecycle.set({ online: true })
    await settle()
    expect(sockets.all).toHaveLength(1)
  })
})
