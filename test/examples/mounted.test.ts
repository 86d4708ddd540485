import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type App, start as startExpress } from '../../examples/express-app/app.mjs'
import { start as startHono } from '../../examples/hono-app/app.mjs'
import * as route from '../../examples/next-app/app/sync/v1/[...path]/route.js'
import { type Next, start as startNext } from '../../examples/next-app/server.mjs'
import manifest from '../../package.json' with { type: 'json' }
import { memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { attachSockets, createSyncService, nodeHandler, signToken } from '../../src/server/index.ts'
import { shown } from '../support/device.ts'

const secret = 'a secret that is long enough to sign with'
/**
 * What Next does with a route: it picks the function of the method, and answers 405 where there is none. From the first
 * request on it hears of what asks for a socket, and ends that where it is for a route.
 */
const next: Next = ({ httpServer }) => {
  const answer = nodeHandler({
    async fetch(request) {
      const { GET, POST, OPTIONS } = route
      const method = Object.entries({ GET, POST, OPTIONS }).find(([name]) => name === request.method)?.[1]
      return method ? method(request) : new Response(null, { status: 405 })
    },
  })
  const endSocket = (request: IncomingMessage, socket: Duplex) => {
    if (request.url?.startsWith('/sync/v1/')) socket.end()
  }
  return {
    prepare: async () => {},
    getRequestHandler: () => (request, response) => {
      const server =
        httpServer ?? ('server' in request.socket ? (request.socket.server as Server) : undefined)
      if (!server?.listeners('upgrade').includes(endSocket)) server?.on('upgrade', endSocket)
      return answer(request, response)
    },
  }
}

const clients: SyncClient[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
})

describe.each<[string, () => Promise<App>]>([
  ['Hono', () => startHono({ secret })],
  ['Express', () => startExpress({ secret })],
  ['Next', () => startNext({ next, port: 0 })],
])('in an application on %s', (framework, start) => {
  let app: App

  beforeAll(async () => {
    process.env.JWT_SECRET = secret
    app = await start()
  })

  afterAll(async () => {
    delete process.env.JWT_SECRET
    await app.close()
  })

  const clientOf = async (userId: string) => {
    const token = await signToken({ secret, userId })
    const options = { baseUrl: `${app.url}/sync/v1`, token, identity: userId, store: memoryStore() }
    const client = new SyncClient({ ...options, logger: silentLogger, pollInterval: 60_000 })
    clients.push(client)
    await client.start()
    await expect.poll(() => client.status.connection.state).toBe('socket')
    return client
  }

  test('clients write, and others are pushed it on their sockets', async () => {
    const [one, other] = [await clientOf('ann'), await clientOf('ann')]
    await one.mutate((m) => {
      m.insert('Issue', { id: 'i1', title: 'Cable cut' })
    }).accepted
    await expect.poll(() => shown(other)).toEqual({ i1: { title: 'Cable cut' } })
  })

  test('who has no token is told so, over HTTP, across origins, and at the upgrade', async () => {
    const { status, headers } = await fetch(`${app.url}/sync/v1/bootstrap`, {
      headers: { origin: 'https://app.test' },
    })
    expect(status).toBe(401)
    expect(headers.get('Access-Control-Allow-Origin')).toBe('*')
    expect((await fetch(`${app.url}/sync/v1/delta`, { method: 'OPTIONS' })).status).toBe(204)
    const socket = new WebSocket(`${app.url.replace('http', 'ws')}/sync/v1/ws?token=wrong`)
    const refused = new Promise((resolve) => {
      socket.on('error', () => {})
      socket.on('unexpected-response', (_, response) => resolve(response.statusCode))
    })
    expect(await refused).toBe(401)
  })

  // The example on Next has none but the sync route.
  if (framework === 'Next') return

  test('its own routes go on, write as the service, and read bodies', async () => {
    const json = { 'content-type': 'application/json' }
    const signIn = await fetch(`${app.url}/sign-in`, {
      method: 'POST',
      headers: json,
      body: '{"user":"bob"}',
    })
    const token = await signIn.text()
    await fetch(`${app.url}/welcome/bob`, { method: 'POST' })
    const authorization = `Bearer ${token}`
    const snapshot = await fetch(`${app.url}/sync/v1/bootstrap`, { headers: { authorization } })
    expect(await snapshot.json()).toMatchObject({ rows: [{ id: 'welcome-bob', p: { title: 'Welcome' } }] })
    expect((await fetch(`${app.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${app.url}/nothing`)).status).toBe(404)
  })
})

test('Next leaves the service out of its bundle, and takes in the hooks, which need its own React', async () => {
  const path = new URL('../../examples/next-app/next.config.mjs', import.meta.url).href
  const config: { default: { serverExternalPackages: readonly string[] } } = await import(path)
  // It looks for each as a folder in `node_modules`.
  const isLeftOut = (entry: './server' | './react') =>
    config.default.serverExternalPackages.some((folder) =>
      manifest.exports[entry].import.default.replace('.', 'instep').startsWith(`${folder}/`),
    )
  expect([isLeftOut('./server'), isLeftOut('./react')]).toEqual([true, false])
})

test('the route of Next has methods alone, since with `cacheComponents` it takes no settings', () => {
  expect(Object.keys(route).sort()).toEqual(['GET', 'OPTIONS', 'POST'])
})

test('a server on which others open sockets too leaves them what is theirs', async () => {
  const service = createSyncService({
    database: 'memory:',
    authenticate: async () => ({ userId: 'ann' }),
    ownerField: 'userId',
  })
  const server = createServer().listen(0, '127.0.0.1')
  const others = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    if (request.url === '/other')
      others.handleUpgrade(request, socket, head, (opened) => opened.send('other'))
  })
  const sockets = attachSockets(server, service)
  await once(server, 'listening')
  const first = async (path: string) => {
    const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
    const [data] = await once(socket, 'message')
    socket.terminate()
    return String(data)
  }
  expect(await first('/other')).toBe('other')
  expect(await first('/sync/v1/ws')).toContain('hello')
  sockets.terminate()
  await service.close()
  server.close()
})
