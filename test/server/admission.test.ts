import { EventEmitter, once } from 'node:events'
import { createServer, IncomingMessage } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { attachSockets, nodeHandler } from '../../src/server/index.ts'

/** A server on Node, and the requests in the order in which they reach its service. */
async function serverOf() {
  const begun: string[] = []
  const fetch = async (request: Request) => {
    begun.push(`${new URL(request.url).pathname} ${request.headers.get('Authorization')}`)
    return Response.json({})
  }
  const server = createServer(nodeHandler({ fetch }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  /** Sends requests on one connection, all at once. Resolves with all responses. */
  const send = async (requests: readonly string[]) => {
    const socket = connect(port, '127.0.0.1')
    const last = 'GET /last HTTP/1.1\r\nHost: sync.test\r\nConnection: close\r\n\r\n'
    socket.write(`${requests.join('')}${last}`)
    return text(socket)
  }
  return { begun, send }
}

function request(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\nHost: sync.test\r\n${lines.join('')}\r\n`
}

const from = (user: string) => request('/sync/v1/delta', { Authorization: user })
const times = (count: number, user: string) => Array.from({ length: count }, () => from(user))

test('a thousand requests of one caller delay the request of another by few of them', async () => {
  const { begun, send } = await serverOf()
  await send([...times(1_000, 'ann'), from('bob')])
  expect(begun.filter((each) => each.endsWith('ann'))).toHaveLength(1_000)
  expect(begun.indexOf('/sync/v1/delta bob')).toBeLessThan(50)
})

test('a thousand requests without credentials delay a caller by few of them', async () => {
  const { begun, send } = await serverOf()
  const anonymous = Array.from({ length: 1_000 }, () => request('/sync/v1/delta'))
  await send([...anonymous, from('bob')])
  expect(begun.indexOf('/sync/v1/delta bob')).toBeLessThan(50)
})

test('a hundred requests for sockets of one caller delay the request of another by few of them', async () => {
  const server = new EventEmitter()
  const begun: (string | null)[] = []
  const upgrade = async ({ headers }: Request) => {
    begun.push(headers.get('Authorization'))
    return new Response(null, { status: 401 })
  }
  attachSockets(server, { path: '/sync/v1', upgrade })
  for (const authorization of [...Array.from({ length: 100 }, () => 'ann'), 'bob']) {
    const incoming = new IncomingMessage(new Socket())
    const headers = { host: 'sync.test', upgrade: 'websocket', authorization }
    server.emit('upgrade', Object.assign(incoming, { url: '/sync/v1/ws', headers }), new PassThrough())
  }
  await expect.poll(() => begun.length).toBe(101)
  expect(begun.indexOf('bob')).toBeLessThan(50)
})

test('the health check and preflights do not wait for other requests', async () => {
  const { begun, send } = await serverOf()
  const preflight = request('/sync/v1/tx', {}, 'OPTIONS')
  await send([...times(100, 'ann'), request('/healthz'), preflight])
  expect(begun.indexOf('/healthz null')).toBeLessThan(50)
  expect(begun.indexOf('/sync/v1/tx null')).toBeLessThan(50)
})

test('a caller of whom a thousand requests wait gets 429 for more, and others do not', async () => {
  const { begun, send } = await serverOf()
  const answers = await send([...times(1_500, 'ann'), from('bob')])
  expect(answers.match(/HTTP\/1\.1 429 .*\r\n(.+\r\n)*retry-after: 1\r\n/gi)?.length).toBeGreaterThan(400)
  expect(begun.filter((each) => each.endsWith('ann')).length).toBeGreaterThan(1_000)
  expect(begun).toContain('/sync/v1/delta bob')
})

test('while thousands of requests of other callers wait, those of a caller with few are not refused', async () => {
  const { begun, send } = await serverOf()
  const others = ['ann', 'cid', 'dan', 'eve', 'fay', 'gus', 'hal'].flatMap((user) => times(900, user))
  const answers = await send([...others, ...times(3, 'bob')])
  expect(answers).toContain('HTTP/1.1 429 ')
  expect(begun.filter((each) => each.endsWith('bob'))).toHaveLength(3)
})

test('a request with a long body that is refused at once ends its connection, and the body is not read', async () => {
  const { begun, send } = await serverOf()
  const announced = { Authorization: 'ann', 'Content-Length': '1000000' }
  const answers = await send([...times(1_100, 'ann'), request('/sync/v1/tx', announced, 'POST')])
  expect(answers.split('HTTP/1.1').at(-1)).toMatch(/^ 429 .*\r\nconnection: close\r\n/is)
  expect(begun).not.toContain('/sync/v1/tx ann')
})
