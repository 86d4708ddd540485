import { EventEmitter, once } from 'node:events'
import { Agent, createServer, IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createHttps, Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { type AddressInfo, connect, Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { attachSockets, createSyncService, nodeHandler, type SyncService } from '../../src/server/index.ts'
import type { UpgradingServer } from '../../src/server/upgrades.ts'
import { certificate } from '../support/certificate.ts'
import { insert } from './harness.ts'

const serviceAt = (path: string) =>
  createSyncService({
    path,
    database: 'memory:',
    authenticate: async (request) =>
      request.headers.get('authorization') === 'Bearer good' ? { userId: 'ann' } : null,
    ownerField: 'userId',
  })

let service: SyncService

beforeEach(async () => {
  service = serviceAt('/sync/v1')
  await service.write([insert('1')])
})

afterEach(() => service.close())

async function listening(server: Server, ...services: readonly SyncService[]): Promise<number> {
  for (const each of services) {
    const sockets = attachSockets(server, each)
    onTestFinished(() => sockets.terminate())
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** The routes of an application, with those of the service among them. */
const routes = (): RequestListener => {
  const handle = nodeHandler(service)
  return async (incoming, outgoing) => {
    if (incoming.url?.startsWith('/sync/v1')) return handle(incoming, outgoing)
    outgoing.end(`${incoming.method} ${incoming.url}: ${await text(incoming)}`)
  }
}

const h2c = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' }
const transaction = (n: number) => ({
  txs: [
    {
      id: `019ac1f0-5d4c-7b1e-9c55-2f0d2f6f8${String(n).padStart(3, '0')}`,
      since: 0,
      ops: [{ op: 'i', t: 'Todo', id: `new${n}`, p: {} }],
    },
  ],
})

describe.each([
  ['HTTP', () => createServer(routes()), Agent],
  ['TLS', () => createHttps(certificate(), routes()), HttpsAgent],
])('over %s, a request that asks for HTTP/2', (name, create, AnyAgent) => {
  const asking = async () => {
    const port = await listening(create(), service)
    const agent = new AnyAgent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const { request } = name === 'TLS' ? { request: requestHttps } : await import('node:http')
    return async (path: string, method = 'GET', body?: string, headers: object = h2c) => {
      const sent = request({
        ...{ host: '127.0.0.1', port, path, method, agent, rejectUnauthorized: false },
        headers: { authorization: 'Bearer good', ...headers },
      })
      sent.end(body)
      const [answer] = await once(sent, 'response')
      return { status: answer.statusCode, body: await text(answer), reused: sent.reusedSocket }
    }
  }

  test('gets a plain response, and so do later requests on the connection', async () => {
    const ask = await asking()
    for (let n = 0; n < 15; n += 1) {
      expect(await ask('/sync/v1/delta?since=0')).toMatchObject({ status: 200, reused: n > 0 })
    }
    expect(await ask('/sync/v1/ws')).toMatchObject({ status: 426, reused: true })
    expect(await ask('/sync/v1/bootstrap', 'GET', undefined, {})).toMatchObject({ status: 200, reused: true })
  })

  test('keeps its body, with a length or in chunks', async () => {
    const ask = await asking()
    const body = (n: number) => JSON.stringify(transaction(n))
    const length = { ...h2c, 'content-length': body(1).length }
    expect(await ask('/sync/v1/tx', 'POST', body(1), length)).toMatchObject({ status: 200, reused: false })
    const chunked = { ...h2c, 'transfer-encoding': 'chunked' }
    expect(await ask('/sync/v1/tx', 'POST', body(2), chunked)).toMatchObject({ status: 200, reused: true })
    const large = 'x'.repeat(900_000)
    expect(await ask('/own', 'POST', large, chunked)).toMatchObject({ body: `POST /own: ${large}` })
    expect((await ask('/sync/v1/delta?since=1')).body).toMatch(/"id":"new1".*"id":"new2"/s)
  })

  test('closes its connection if it asks for that', async () => {
    const ask = await asking()
    const last = { ...h2c, connection: 'close, Upgrade, HTTP2-Settings' }
    expect(await ask('/own', 'GET', undefined, last)).toMatchObject({ status: 200, body: 'GET /own: ' })
    expect(await ask('/own')).toMatchObject({ status: 200, reused: false })
  })
})

test('thousands of upgrade requests to another protocol close their connection', async () => {
  const server = createServer(routes())
  let readAgain = -1
  server.on('connection', () => {
    readAgain += 1
  })
  const port = await listening(server, service)
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n'
  socket.on('error', () => {})
  socket.write(request.repeat(2_000))
  await once(socket.resume(), 'close')
  expect(readAgain).toBeLessThanOrEqual(100)
})

describe('a socket request', () => {
  const firstOn = async (port: number, path: string) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, {
      headers: { authorization: 'Bearer good' },
    })
    const said = await Promise.race([
      once(socket, 'message').then(([data]) => String(data)),
      once(socket, 'unexpected-response').then(([, answer]) => answer.statusCode),
    ])
    socket.on('error', () => {})
    socket.terminate()
    return said
  }

  test('reaches the service that it names, and is refused if it names none', async () => {
    const other = serviceAt('/other')
    onTestFinished(() => other.close())
    const port = await listening(createServer(), service, other)
    expect(await firstOn(port, '/sync/v1/ws')).toContain('"sid":1')
    expect(await firstOn(port, '/other/ws?of=a%20page')).toContain('"sid":0')
    expect(await firstOn(port, '/elsewhere')).toBe(404)
  })

  test('is left to other handlers on the server, as is an upgrade to another protocol', async () => {
    const other = serviceAt('/other')
    onTestFinished(() => other.close())
    const server = createServer(routes())
    const own = new WebSocketServer({ noServer: true })
    server.on('upgrade', (incoming, socket, head) => {
      if (incoming.url === '/own') own.handleUpgrade(incoming, socket, head, (opened) => opened.send('own'))
      if (incoming.url === '/chat') socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\n\r\n')
    })
    const port = await listening(server, service, other)
    expect(await firstOn(port, '/own')).toBe('own')
    expect(await firstOn(port, '/sync/v1/ws')).toContain('"sid":1')
    const answerTo = (path: string) => {
      const socket = connect(port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\nUpgrade: chat\r\n\r\n`)
      return text(socket)
    }
    expect(await answerTo('/chat')).toMatch(/^HTTP\/1.1 101 /)
    expect(await answerTo('/sync/v1/bootstrap')).toMatch(/^HTTP\/1.1 401 /)
  })

  test('is not touched if another handler takes it', async () => {
    const server = createServer(routes())
    const own = new WebSocketServer({ noServer: true })
    server.on('upgrade', (incoming, socket, head) => {
      if (incoming.url !== '/own') return
      own.handleUpgrade(incoming, socket, head, (opened) => {
        opened.on('message', (data) => opened.send(`${data}, as ever`))
      })
    })
    const port = await listening(server, service)
    const socket = new WebSocket(`ws://127.0.0.1:${port}/own`)
    await once(socket, 'open')
    // Both handlers have been called when the service’s socket is answered.
    expect(await firstOn(port, '/sync/v1/ws')).toContain('"sid":1')
    socket.send('the same')
    const [answer] = await once(socket, 'message')
    expect(String(answer)).toBe('the same, as ever')
    socket.terminate()
  })

  test('may write the protocol in any case', async () => {
    const port = await listening(createServer(routes()), service)
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const fields = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
    socket.write(
      `GET /sync/v1/ws?token=good HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n${fields}\r\n\r\n`,
    )
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1.1 101 /)
  })

  test('finds no handler after the last service was removed', async () => {
    const server = createServer(routes())
    const [first, second] = [attachSockets(server, service), attachSockets(server, service)]
    first.close()
    expect(server.listenerCount('upgrade')).toBe(1)
    first.close()
    second.close()
    expect(server.listenerCount('upgrade')).toBe(0)
    const port = await listening(server, service)
    expect(await firstOn(port, '/sync/v1/ws')).toContain('"sid":1')
  })
})

test('`shouldUpgradeCallback` refuses upgrades to other protocols, until the last service was removed', () => {
  const server: UpgradingServer = createServer()
  const own = ({ url }: IncomingMessage) => url !== '/no'
  server.shouldUpgradeCallback = own
  const first = attachSockets(server, service)
  const asked = (url: string, upgrade: string) => {
    const incoming = Object.assign(new IncomingMessage(new Socket()), { url, headers: { upgrade } })
    return server.shouldUpgradeCallback?.(incoming)
  }
  expect(asked('/sync/v1/ws', 'websocket')).toBe(true)
  expect(asked('/sync/v1/delta', 'h2c')).toBe(false)
  expect(asked('/no', 'websocket')).toBe(false)
  first.close()
  expect(server.shouldUpgradeCallback).toBe(own)
  const second = attachSockets(server, service)
  const others = () => false
  server.shouldUpgradeCallback = others
  second.close()
  expect(server.shouldUpgradeCallback).toBe(others)
})

test('a refusal that cannot be read ends only its connection', async () => {
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error('Broken.')) })
  const refusing = {
    ...service,
    path: '/sync/v1',
    upgrade: async () => new Response(broken, { status: 401 }),
  }
  const port = await listening(createServer(), refusing)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/sync/v1/ws`)
  const [error] = await once(socket, 'error')
  expect(error).toMatchObject({ message: 'socket hang up' })
})

test('a socket request is released once it is refused', async () => {
  const server = new EventEmitter()
  const sockets = attachSockets(server, service)
  const socket = new PassThrough()
  const asked = { url: '/sync/v1/ws', headers: { host: 'x', upgrade: 'websocket' } }
  const incoming = Object.assign(new IncomingMessage(new Socket()), asked)
  server.emit('upgrade', incoming, socket, Buffer.alloc(0))
  await once(socket.resume(), 'close')
  const destroyed = vi.spyOn(socket, 'destroy')
  sockets.terminate()
  expect(destroyed).not.toHaveBeenCalled()
})
