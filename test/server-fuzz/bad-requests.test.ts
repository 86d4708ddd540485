import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import {
  anyOf,
  apiKeyAuthentication,
  jwtAuthentication,
  MemoryLog,
  memoryKeyStore,
  prometheusMetrics,
} from '../../src/server/index.ts'
import { secret, serveOn, tokenOf } from '../interface/site.ts'
import { insert } from '../server/harness.ts'
import { type RawAnswer, sendRaw, wire } from './raw.ts'
import { headers, lines, type Target, targets, upgrade } from './requests.ts'

const metricsToken = 'what-only-the-watcher-of-metrics-knows'

/** A service with all that can be asked, whose every answer is looked at. */
async function watched() {
  const store = memoryKeyStore()
  const { secret: key } = await store.create({ userId: 'ann' })
  const token = await tokenOf('ann')
  const site = await serveOn(new MemoryLog(resolveEnvironment()), {
    authenticate: anyOf(jwtAuthentication({ secret }), apiKeyAuthentication({ store })),
    metrics: prometheusMetrics({ token: metricsToken }),
  })
  await site.service.write([insert('1'), insert('2', { text: 'of bob alone' }, 'bob')])
  const wrong: unknown[] = []
  /** Sends `request`, and keeps it where the answer is none that it may have. */
  const send = async (request: string, options?: Parameters<typeof sendRaw>[2]): Promise<RawAnswer> => {
    const answer = await sendRaw(site.port, Buffer.from(request, 'latin1'), options)
    const fault = request.startsWith('HEAD ') && !answer.hung ? undefined : faultOf(answer)
    if (fault !== undefined)
      wrong.push([fault, request.slice(0, 300), answer.status, answer.body.slice(0, 200)])
    return answer
  }
  /** That nothing was wrong, nothing is broken, and nothing was told to the log that is nobody's business. */
  const settle = async () => {
    expect(wrong).toEqual([])
    expect((await site.json('bootstrap')).rows).toMatchObject([{ id: '1' }])
    expect((await site.listen()).hello.sid).toBe(2)
    const log = site.lines.join('')
    const parts = [...token.split('.').slice(1), key, metricsToken, secret]
    expect(parts.filter((part) => log.includes(part))).toEqual([])
    expect(site.lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
  }
  return { ...site, send, settle, token, key }
}

/** What is wrong with an answer, whatever was asked. */
function faultOf({ status, headers: fields, body, hung }: RawAnswer): string | undefined {
  if (hung) return 'It hangs.'
  if (body.includes('of bob alone')) return 'It shows what is another’s.'
  // The connection ended: so it may, where there was no proper request.
  if (status === undefined || status < 300) return undefined
  if (status >= 500) return 'It is a fault of the service.'
  if (!fields.has('x-request-id') || (status === 401 && fields.get('content-type') === undefined))
    return undefined
  return isError(body) ? undefined : 'It does not say what is wrong.'
}

function isError(body: string): boolean {
  try {
    const { error } = JSON.parse(body)
    return typeof error.code === 'string' && typeof error.message === 'string'
  } catch {
    return false
  }
}

const named = (field: string) => field.split(':')[0]?.toLowerCase()

/** A request for `target` with the headers of a proper one, but where `changed` has one of the name. */
function requestFor(
  target: Target,
  authorization: string,
  changed: readonly string[] = [],
  line?: string,
): string {
  const isUpgrade = [...changed, ...(target.headers ?? [])].some((field) => named(field) === 'upgrade')
  const proper = [
    'Host: sync.test',
    `Authorization: ${authorization}`,
    `Connection: ${isUpgrade ? 'Upgrade' : 'close'}`,
    ...(target.headers ?? []),
  ].filter((field) => !changed.some((other) => named(other) === named(field)))
  return wire(line ?? `${target.method} ${target.path} HTTP/1.1`, [...proper, ...changed], target.body)
}

test('any request line gets an error or a valid response', async () => {
  const { send, settle, token } = await watched()
  for (const target of targets) {
    const asked = lines.map((line) =>
      send(requestFor(target, `Bearer ${token}`, [], line(target.method, target.path))),
    )
    await Promise.all(asked)
  }
  await settle()
})

test('any headers get an error or a valid response', async () => {
  const { send, settle, token } = await watched()
  for (const target of targets) {
    await Promise.all(headers.map((changed) => send(requestFor(target, `Bearer ${token}`, changed))))
  }
  await settle()
})

test('no token is logged, however a socket request is malformed', async () => {
  const { send, settle, token, key } = await watched()
  const target = { method: 'GET', path: `/sync/v1/ws?token=${token}`, headers: upgrade }
  const hosts = ['[', 'a b', 'x\\y', ''].map((host) => [`Host: ${host}`, 'Authorization: '])
  for (const changed of [...hosts, ...headers]) {
    await send(requestFor(target, '', changed))
    await send(requestFor({ ...target, headers: [] }, '', changed))
    await send(requestFor({ ...target, path: `/sync/v1/ws?token=${key}` }, `Bearer ${key}`, changed))
  }
  for (const line of [`GET http://[/sync/v1/ws?token=${token} HTTP/1.1`, `GET x?token=${token} HTTP/1.1`]) {
    await send(requestFor(target, '', [], line))
    await send(requestFor({ ...target, headers: [] }, '', [], line))
  }
  await settle()
})

test('anything but HTTP is refused, or disconnected', async () => {
  const { send, settle, port } = await watched()
  const garbage = [
    '\0'.repeat(1_000),
    '\u00ff\u00fe'.repeat(500),
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\r\n'.repeat(500),
    '{"txs":[]}\r\n\r\n',
    `${'x'.repeat(100_000)}`,
    'GET /sync/v1/bootstrap HTTP/1.1\r\nHost',
    'GET /sync/v1/bootstrap HTTP/1.1\r\nHost: x\r\n',
  ]
  for (const text of garbage) {
    await send(text, { after: 'end' })
    await sendRaw(port, text, { after: 'reset' })
  }
  await settle()
})

test('the service ignores all messages of a client on its socket', async () => {
  const { listen, service, lines } = await watched()
  const { socket, pushes } = await listen()
  const said = [
    '',
    '\0',
    '{',
    'null',
    '{"hello":{"sid":9}}',
    '{"since":0,"sid":9,"frames":[]}',
    '[]',
    'x'.repeat(4_000),
  ]
  const before = lines.length
  for (const text of said) {
    socket.send(text)
    socket.send(Buffer.from(text))
    socket.ping(text.slice(0, 100))
  }
  await service.write([insert('3')])
  await expect.poll(() => pushes.flatMap(({ frames }) => frames)).toMatchObject([{ sid: 3, id: '3' }])
  expect([socket.readyState, lines.slice(before)]).toEqual([1, []])
})

test('a client that pings and reads no answer is disconnected before its answers pile up', async () => {
  const { port, token } = await watched()
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(requestFor({ method: 'GET', path: '/sync/v1/ws', headers: upgrade }, `Bearer ${token}`))
  await once(socket, 'data')
  socket.pause()
  let gone = false
  socket.on('error', () => {
    gone = true
  })
  // Of 125 bytes, masked by zeros.
  const ping = Buffer.alloc(131, 'x').fill(0, 2, 6)
  ping.set([0x89, 0x80 | 125])
  const pings = Buffer.alloc(131 * 1_000, ping)
  let sent = 0
  while (!gone && sent < 64 * 1_048_576) {
    await new Promise((resolve) => socket.write(pings, resolve))
    sent += pings.length
  }
  expect(gone).toBe(true)
})

test('a refused socket ends even if the client never closes it', async () => {
  const { port } = await watched()
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.write(requestFor({ method: 'GET', path: '/sync/v1/ws', headers: upgrade }, 'Bearer wrong'))
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'end')
  expect(text).toMatch(/^HTTP\/1\.1 401 /)
  // A side that is gone answers what comes for it with a reset.
  let failed = false
  socket.on('error', () => {
    failed = true
  })
  await expect.poll(() => failed || !socket.write('x')).toBe(true)
})
