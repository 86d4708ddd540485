import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { Deferred } from '../../src/base/deferred.ts'
import {
  createSyncService,
  jwtAuthentication,
  MemoryLog,
  type RunningServer,
  type SyncService,
  serve,
  signToken,
} from '../../src/server/index.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'
import { insert, recorder, update } from './harness.ts'

const secret = 'a secret that is long enough to sign with'
const origin = 'https://app.test'

let service: SyncService
let served: RunningServer
let token: string
let lines: string[]

beforeEach(async () => {
  const recorded = recorder()
  lines = recorded.lines
  service = createSyncService({
    database: 'memory:',
    authenticate: jwtAuthentication({ secret }),
    ownerField: 'userId',
    allowedOrigins: [origin],
    maxBufferedBytes: 50_000,
    logger: recorded.logger,
  })
  served = await serve(service, { port: 0, logger: recorded.logger, graceMs: 200 })
  token = await signToken({ secret, userId: 'ann' })
})

afterEach(async () => {
  await served.close()
  await service.close()
})

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${served.url}/${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })

const wsUrl = () => `${served.url.replace('http', 'ws')}/ws`

/** An open socket, its hello and what comes after. */
async function open(url = `${wsUrl()}?token=${token}`, headers: Record<string, string> = {}) {
  const socket = new WebSocket(url, { headers })
  const messages: { since: number; sid: number; frames: unknown[] }[] = []
  const hello = new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('message', (data, isBinary) => {
      // A browser gives a client no text then.
      if (isBinary) return reject(new Error('It is binary.'))
      const message = JSON.parse(String(data))
      if (message.hello) resolve(message.hello)
      else messages.push(message)
    })
  })
  return { socket, messages, hello: await hello }
}

test('the server compresses responses over HTTP, and any client reads them', async () => {
  await service.write(Array.from({ length: 2_000 }, (_, n) => insert(String(n))))
  const response = await ask('bootstrap')
  expect(response.headers.get('content-encoding')).toBe('gzip')
  expect(await response.json()).toMatchObject({ sid: 2_000, count: 2_000, rows: { length: 2_000 } })
  expect(await (await ask('delta?since=1999')).json()).toMatchObject({ frames: [{ sid: 2_000 }] })
  expect((await ask('bootstrap', { method: 'POST', body: 'x' })).status).toBe(200)
})

test('the server answers a request without a body or a host', async () => {
  const asking = { origin, 'access-control-request-method': 'POST' }
  expect((await ask('tx', { method: 'OPTIONS', headers: asking })).status).toBe(204)
  const health = new URL('/healthz', served.url)
  expect((await fetch(health, { method: 'HEAD' })).status).toBe(200)
  const socket = connectTcp(Number(health.port), health.hostname)
  socket.write('GET /healthz HTTP/1.0\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 /)
})

test('`url` is the base URL of a client', () => {
  expect(served.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sync\/v1$/)
})

describe('a socket', () => {
  test('opens with a token in the header or in the query, and receives pushes', async () => {
    const { socket, messages } = await open()
    const withHeader = await open(wsUrl(), { authorization: `Bearer ${token}` })
    await service.write([insert('1')])
    const expected = [{ since: 0, sid: 1, frames: [{ sid: 1, op: 'i' }] }]
    await expect.poll(() => messages).toMatchObject(expected)
    await expect.poll(() => withHeader.messages).toMatchObject(expected)
    socket.terminate()
    withHeader.socket.terminate()
  })

  test.each([
    ['without a token', '', {}, 401],
    ['with a wrong token', '?token=wrong', {}, 401],
    ['from another origin', '', { origin: 'https://evil.test' }, 403],
  ])('%s is refused over HTTP', async (_, query, headers, status) => {
    const authorization: Record<string, string> = status === 403 ? { authorization: `Bearer ${token}` } : {}
    const socket = new WebSocket(wsUrl() + query, { headers: { ...headers, ...authorization } })
    const [, response] = await once(socket, 'unexpected-response')
    expect(response.statusCode).toBe(status)
    expect(response.headers['cache-control']).toBe('no-store')
    const [body] = await once(response, 'data')
    expect(JSON.parse(String(body)).error.code).toEqual(expect.any(String))
    expect(lines.join()).not.toContain('token=')
  })

  test('is closed with 1009 if it sends too much', async () => {
    const { socket } = await open()
    socket.send('x'.repeat(10_000))
    expect((await once(socket, 'close'))[0]).toBe(1009)
  })

  test('is closed with 1012 when the server closes, and the service works with another server', async () => {
    const { socket } = await open()
    const closed = once(socket, 'close')
    await served.close()
    expect((await closed)[0]).toBe(1012)
    await expect(ask('bootstrap')).rejects.toThrow('fetch failed')
    await service.write([insert('1')])
    served = await serve(service, { port: 0 })
    expect(await (await ask('bootstrap')).json()).toMatchObject({ sid: 1 })
  })

  test('leaves no timer if the client confirms the close', async () => {
    const clock = new VirtualClock()
    const { url, close } = await serve(service, { port: 0, clock })
    const { socket } = await open(`${url.replace('http', 'ws')}/ws?token=${token}`)
    const closed = once(socket, 'close')
    await close()
    await closed
    await expect.poll(() => clock.timers).toBe(0)
  })

  test('invariant 55: is closed with 1013 if it reads nothing, and a delta brings what it missed', async () => {
    const { socket, messages } = await open()
    socket.pause()
    await service.write([insert('1', { text: '' })])
    // More than what the two kernels keep for a connection.
    for (let n = 0; n < 200; n += 1) {
      await service.write([update('1', { n, text: 'x'.repeat(100_000) })])
      await new Promise((resolve) => setImmediate(resolve))
    }
    const closed = once(socket, 'close')
    socket.resume()
    expect((await closed)[0]).toBe(1013)
    const position = messages.at(-1)?.sid ?? 0
    expect(position).toBeLessThan(201)
    const { sid, frames } = await (await ask(`delta?since=${position}`)).json()
    expect(sid).toBe(201)
    expect(frames).toHaveLength(201 - position)
  })
})

test('a client that disconnects in the middle of a response leaves nothing behind', async () => {
  await service.write(Array.from({ length: 5_000 }, (_, n) => insert(String(n), { text: 'x'.repeat(5_000) })))
  const controller = new AbortController()
  const response = await ask('bootstrap', {
    signal: controller.signal,
    headers: { 'accept-encoding': 'identity' },
  })
  await response.body?.getReader().read()
  controller.abort()
  await expect.poll(() => lines.join()).toContain('A connection ended early.')
  expect((await ask('delta?since=5000')).status).toBe(200)
})

test('an invalid request harms no other', async () => {
  const socket = connectTcp(Number(new URL(served.url).port), '127.0.0.1')
  const closed = once(socket, 'close')
  socket.on('error', () => {})
  socket.resume()
  socket.write('GET http://[/ HTTP/1.1\r\nHost: x\r\n\r\n')
  await closed
  expect((await ask('bootstrap')).status).toBe(200)
})

test.each([Number.NaN, -1, 65_536, 80.5, 'x'])('%s is refused as a port', async (port) => {
  const serving = serve(service, { port: port as number })
  await expect(serving).rejects.toMatchObject({ name: 'ConfigurationError', option: 'port' })
})

test('an undecided socket request does not delay `close`', async () => {
  const asked = new Deferred<void>()
  const undecided = createSyncService({
    database: 'memory:',
    authenticate: () => {
      asked.resolve()
      return new Promise(() => {})
    },
    ownerField: 'userId',
  })
  const { url, close } = await serve(undecided, { port: 0, graceMs: 200 })
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?token=${token}`)
  const ended = once(socket, 'error')
  await asked.promise
  await close()
  await ended
})

test('a socket request whose connection breaks before the refusal harms no other', async () => {
  const [asked, decided] = [new Deferred<void>(), new Deferred<void>()]
  const slow = createSyncService({
    database: 'memory:',
    authenticate: async () => {
      asked.resolve()
      await decided.promise
      return null
    },
    ownerField: 'userId',
  })
  const recorded = recorder()
  const { url, close } = await serve(slow, { port: 0, graceMs: 200, logger: recorded.logger })
  const socket = connectTcp(Number(new URL(url).port), '127.0.0.1')
  socket.write('GET /sync/v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await asked.promise
  socket.resetAndDestroy()
  await once(socket, 'close')
  decided.resolve()
  await expect.poll(() => recorded.lines.join()).toContain('A socket failed.')
  expect((await fetch(`${url}/delta?since=0`)).status).toBe(401)
  await close()
})

test('`close` waits at most `graceMs` for a request, and leaves no timer', async () => {
  const clock = new VirtualClock()
  const asked = new Deferred<void>()
  const endless = createSyncService({
    database: 'memory:',
    authenticate: () => {
      asked.resolve()
      return new Promise(() => {})
    },
    ownerField: 'userId',
  })
  const { url, close } = await serve(endless, { port: 0, graceMs: 5_000, clock })
  const answer = fetch(`${url}/bootstrap`).catch(({ message }: Error) => message)
  await asked.promise
  const closed = close()
  expect(close()).toBe(closed)
  await clock.advance(4_999)
  expect(clock.timers).toBe(1)
  await clock.advance(1)
  expect(await answer).toBe('fetch failed')
  await closed
  const idle = await serve(service, { port: 0, clock })
  await idle.close()
  expect(clock.timers).toBe(0)
})

test('an idle connection stays open longer than the minute of a proxy, and ends at once on `close`', async () => {
  const { url, close } = await serve(service, { port: 0, clock: new VirtualClock() })
  const socket = connectTcp(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1')
  const ended = once(socket, 'close')
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(String(await once(socket, 'data'))).toContain('Keep-Alive: timeout=75\r\n')
  await close()
  await ended
})

test('a response that begins during `close` says that its connection ends', async () => {
  const asked = new Deferred<void>()
  const decided = new Deferred<void>()
  const authenticate = async () => {
    asked.resolve()
    await decided.promise
    return { userId: 'ann' }
  }
  const slow = createSyncService({ database: 'memory:', authenticate, ownerField: 'userId' })
  const { url, close } = await serve(slow, { port: 0, clock: new VirtualClock() })
  const answer = fetch(`${url}/delta?since=0`)
  await asked.promise
  const closed = close()
  decided.resolve()
  expect((await answer).headers.get('connection')).toBe('close')
  await closed
})

test('a response that has begun before `close` is completed, and its connection serves no other', async () => {
  await service.write(Array.from({ length: 20 }, (_, n) => insert(`${n}`, { text: 'x'.repeat(500_000) })))
  const { url, close } = await serve(service, { port: 0, clock: new VirtualClock() })
  const socket = connectTcp(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1')
  const request = (path: string) =>
    `GET /sync/v1/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
  socket.on('error', () => {})
  socket.write(request('bootstrap'))
  await once(socket, 'readable')
  const closed = close()
  const pieces: string[] = []
  socket.on('data', (data) => {
    pieces.push(String(data))
    if (pieces.slice(-2).join('').endsWith('\r\n0\r\n\r\n')) socket.write(request('delta?since=20'))
  })
  await once(socket, 'close')
  const answers = pieces.join('')
  expect(answers).toContain(']}\r\n0\r\n\r\n')
  expect(answers.match(/HTTP\/1.1 200/g)).toHaveLength(1)
  await closed
})

test('a service that cannot start does not listen', async () => {
  const database = new MemoryLog({ clock: new VirtualClock(), random: seededRandom(1) })
  database.position = () => Promise.reject(new Error('The database is away.'))
  const broken = createSyncService({ database, authenticate: async () => null, ownerField: 'userId' })
  const serving = serve(broken, { port: 0 }).then(({ close }) => close())
  await expect(serving).rejects.toThrow('The database is away.')
})

test.each(['::1', '[::1]'])('the server listens at %s, and its URL has brackets', async (host) => {
  const { url, close } = await serve(service, { port: 0, host, graceMs: 200 })
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+\/sync\/v1$/)
  expect((await fetch(`${url}/bootstrap`)).status).toBe(401)
  await close()
})

test('a port that is taken is an error', async () => {
  const port = Number(new URL(served.url).port)
  await expect(serve(service, { port })).rejects.toThrow('EADDRINUSE')
})

test('a logger that throws does not stop the server', async () => {
  const broken = () => {
    throw new Error('The logger broke.')
  }
  const logger = { debug: broken, info: broken, warn: broken, error: broken }
  const authenticate = jwtAuthentication({ secret })
  const logging = createSyncService({ database: 'memory:', authenticate, ownerField: 'userId', logger })
  const { url, close } = await serve(logging, { port: 0, logger, graceMs: 200 })
  await logging.write(Array.from({ length: 20 }, (_, n) => insert(`${n}`, { text: 'x'.repeat(500_000) })))
  const get = (path: string) => fetch(`${url}/${path}`, { headers: { authorization: `Bearer ${token}` } })
  await (await get('bootstrap')).body?.cancel()
  expect((await get('delta?since=20')).status).toBe(200)
  expect((await fetch(`${url}/delta`)).status).toBe(401)
  const { socket } = await open(`${url.replace('http', 'ws')}/ws?token=${token}`)
  socket.send('x'.repeat(10_000))
  expect((await once(socket, 'close'))[0]).toBe(1009)
  await close()
  await logging.close()
})
