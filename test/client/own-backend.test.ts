import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type Backend, startBackend, type Wire } from '../../examples/own-backend/server.mjs'
import type { WebSocketConstructor } from '../../src/base/environment.ts'
import { fallbackWebSocket } from '../../src/base/websocket.node.ts'
import { memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { sendRaw, wire } from '../server-fuzz/raw.ts'
import { shown } from '../support/device.ts'

const tokens = new Map([
  ['token-of-ada', 'ada'],
  ['token-of-ben', 'ben'],
])
const userOf = (token: string | null | undefined) => tokens.get(token ?? '')

/** A browser's sends no headers, so its token goes into the query. */
const ofBrowsers = class extends WebSocket {
  constructor(url: string) {
    super(url)
  }
} as unknown as WebSocketConstructor

describe.each([
  ['that sends headers', fallbackWebSocket],
  ['of a browser', ofBrowsers],
  ['that does not exist', undefined],
])('before the backend of the example, with a WebSocket %s', (_, WebSocket) => {
  const store = memoryStore()
  const clients: SyncClient[] = []
  let backend: Backend

  const start = async ({ token = 'token-of-ada' } = {}) => {
    const { baseUrl } = backend
    const options = { baseUrl, token, identity: userOf(token) ?? null, store, pollInterval: 200 }
    const client = new SyncClient({ ...options, environment: { WebSocket }, logger: silentLogger })
    clients.push(client)
    await client.start()
    return client
  }

  beforeEach(async () => {
    backend = await startBackend({ userOf, keep: 5 })
    backend.write('ada', { op: 'i', t: 'Issue', id: '1', p: { title: 'Cable cut' } })
    backend.write('ben', { op: 'i', t: 'Issue', id: '2', p: { title: 'Not hers' } })
  })
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()))
    await backend.close()
  })

  test('a client shows its own data, and every change to it', async () => {
    const client = await start()
    await expect.poll(() => shown(client)).toEqual({ 1: { title: 'Cable cut' } })
    const state = WebSocket ? 'socket' : 'polling'
    await expect.poll(() => client.status.connection.state).toBe(state)
    backend.write('ada', { op: 'u', t: 'Issue', id: '1', p: { open: false } })
    backend.write('ada', { op: 'i', t: 'Issue', id: '3', p: {} })
    await expect.poll(() => shown(client)).toEqual({ 1: { title: 'Cable cut', open: false }, 3: {} })
    backend.write('ada', { op: 'd', t: 'Issue', id: '1' })
    await expect.poll(() => shown(client)).toEqual({ 3: {} })
  })

  test('a client that was away too long, or finds another history, fetches a snapshot', async () => {
    const first = await start()
    await first.ready()
    await first.close()
    for (const id of ['4', '5', '6', '7', '8', '9']) backend.write('ada', { op: 'i', t: 'Issue', id, p: {} })
    const away = await start()
    const reasons: string[] = []
    away.on('reset', ({ reason }) => reasons.push(reason))
    await expect.poll(() => Object.keys(shown(away)).length).toBe(7)
    expect(reasons).toEqual(['gone'])
    await away.sync()

    const { port } = new URL(backend.baseUrl)
    await backend.close()
    backend = await startBackend({ userOf, port: Number(port) })
    for (let n = 0; n < 20; n += 1) backend.write('ada', { op: 'i', t: 'Issue', id: `b${n}`, p: {} })
    await expect.poll(() => Object.keys(shown(away)).length).toBe(20)
    expect(reasons).toEqual(['gone', 'epoch'])
  })

  test('transactions are applied once, all or nothing, and pushed to other clients', async () => {
    const [device, phone] = [await start(), await start()]
    await device.ready()
    await phone.ready()
    const added = device.mutate((m) => {
      m.insert('Issue', { id: '3', title: 'Door stuck' })
      m.update('Issue', '1', { open: false })
    })
    await added.synced
    await expect.poll(() => phone.get('Issue', '1')?.open).toBe(false)
    expect(shown(phone)).toEqual(shown(device))

    backend.write('ada', { op: 'd', t: 'Issue', id: '3' })
    const late = device.mutate((m) => {
      m.update('Issue', '1', { open: true })
      m.put('Issue', { id: '2', title: 'His' })
    })
    await late.settled
    expect(late.rejection?.reason).toBe('exists')
    expect(device.get('Issue', '1')?.open).toBe(false)
  })

  test('a conditional write is rejected after a change by another client, and not after an own one', async () => {
    const client = await start()
    await client.ready()
    const unchanged = { ifUnchanged: true } as const
    const first = client.mutate((m) => m.update('Issue', '1', { n: 1 }, unchanged))
    const second = client.mutate((m) => m.update('Issue', '1', { n: 2 }, unchanged))
    await second.synced
    backend.write('ada', { op: 'u', t: 'Issue', id: '1', p: { n: 3 } })
    const third = client.mutate((m) => m.update('Issue', '1', { n: 4 }, unchanged))
    const fourth = client.mutate((m) => m.insert('Issue', { n: 5 }), { requires: [third] })
    await fourth.settled
    expect([first.state, third.rejection?.reason]).toEqual(['synced', 'conflict'])
    expect(fourth.rejection?.reason).toBe('dependency_rejected')
  })

  test('a transaction that is sent again is not applied again', async () => {
    const headers = { Authorization: 'Bearer token-of-ada' }
    const tx = { id: 'tx-1', since: 1, ops: [{ op: 'i', t: 'Issue', id: '3', p: {} }] }
    const send = async () => {
      const answer = await fetch(`${backend.baseUrl}/tx`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ txs: [tx] }),
      })
      return ((await answer.json()) as { results: unknown }).results
    }
    const verdict = await send()
    expect(verdict).toEqual([{ id: 'tx-1', sid: 3 }])
    expect(await send()).toEqual(verdict)
  })

  test('a client with an unknown token gets a 401', async () => {
    const client = await start({ token: 'nobody' })
    await expect.poll(() => client.status.connection.state).toBe('unauthenticated')
    await expect(client.sync()).rejects.toThrow('401')
  })
})

test.each<Wire>([
  { deltas: 'rows', hasTx: false },
  { deltas: 'rows', hasSocket: false },
  { hasTx: false, hasSince: true, pushAfterMs: 50 },
  { hasSince: true, pushAfterMs: -50 },
])('a write reaches another client of a backend that speaks %j', async (wire) => {
  const backend = await startBackend({ userOf, wire })
  backend.write('ben', { op: 'i', t: 'Issue', id: '2', p: {} })
  backend.write('ada', { op: 'i', t: 'Issue', id: '1', p: {} })
  const clients = [1, 2].map(
    () =>
      new SyncClient({
        baseUrl: backend.baseUrl,
        token: 'token-of-ada',
        identity: 'ada',
        pollInterval: 200,
        logger: silentLogger,
      }),
  )
  for (const client of clients) await client.start()
  const [device, phone] = clients as [SyncClient, SyncClient]
  await device.ready()
  await phone.ready()
  await device.mutate((m) => m.update('Issue', '1', { title: 'Cable cut' })).synced
  await expect.poll(() => shown(phone)).toEqual({ 1: { title: 'Cable cut' } })
  await Promise.all(clients.map((client) => client.close()))
  await backend.close()
})

test('the example backend survives a client that resets a refused connection', async () => {
  const backend = await startBackend({ userOf, port: 0 })
  const { hostname, port } = new URL(backend.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.write('GET /sync/v1/ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
  await once(socket, 'data')
  socket.resetAndDestroy()
  await expect.poll(async () => (await fetch(`${backend.baseUrl}/bootstrap`)).status).toBe(401)
  await backend.close()
})

test('the example backend survives an invalid address, and refuses a record that nests too deep', async () => {
  const backend = await startBackend({ userOf, port: 0 })
  const port = Number(new URL(backend.baseUrl).port)
  const upgrade = ['Host: x', 'Connection: upgrade', 'Upgrade: websocket']
  const statuses = [
    await sendRaw(port, wire('GET // HTTP/1.1', ['Host: x'])),
    await sendRaw(port, wire('GET //?token=x HTTP/1.1', upgrade)),
  ].map(({ status }) => status)
  expect(statuses).toEqual([401, 401])

  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${backend.baseUrl}/${path}`, { ...init, headers: { authorization: 'Bearer token-of-ada' } })
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const op = `{"op":"i","t":"Issue","id":"1","p":{"deep":${deep}}}`
  const answer = await ask('tx', { method: 'POST', body: `{"txs":[{"id":"a","since":0,"ops":[${op}]}]}` })
  expect(await answer.text()).toContain('"code":"invalid"')
  expect((await ask('bootstrap')).status).toBe(200)
  expect((await ask('delta?since=1')).status).toBe(200)
  await backend.close()
})
