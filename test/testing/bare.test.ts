import { expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { type BareOptions, mockSyncServer } from '../../src/testing/index.ts'
import { shown } from '../support/device.ts'

/** A bare server with one issue of Ada's, and two of her clients, each on a device of its own. */
async function scene(bare: BareOptions) {
  const server = mockSyncServer({ bare })
  await server.write([{ op: 'i', t: 'Issue', id: '1', p: { n: 1 } }], 'ada')
  const clients = [server, server.device()].map((device) =>
    device.client({ identity: 'ada', pollInterval: 5_000 }),
  )
  await Promise.all(clients.map((client) => client.start()))
  await server.settle()
  const [client, other] = clients as [SyncClient, SyncClient]
  return { server, client, other }
}

/** What one request to an endpoint, and the socket, bring to whoever asks. */
async function heard(bare: BareOptions) {
  const server = mockSyncServer({ bare })
  await server.write([{ op: 'i', t: 'Issue', id: '1', p: { n: 1 } }], 'ada')
  const headers = { Authorization: `Bearer ${server.token('ada')}` }
  const at = (path: string) => `${server.baseUrl}/${path}`
  const accept = await server.upgrade(
    new Request(at('ws'), { headers: { ...headers, Upgrade: 'websocket' } }),
  )
  const pushes: { readonly at: number; readonly message: unknown }[] = []
  const start = server.clock.now()
  const send = (text: string) => pushes.push({ at: server.clock.now() - start, message: JSON.parse(text) })
  if (typeof accept === 'function')
    accept({ bufferedAmount: 0, send, close() {}, terminate() {}, addEventListener() {} })
  await server.settle()
  const ops = [
    { op: 'u', t: 'Issue', id: '1', p: { n: 2 } },
    { op: 'i', t: 'Issue', id: '2', p: {} },
    { op: 'd', t: 'Issue', id: '2' },
  ]
  const sentAt = server.clock.now() - start
  const body = JSON.stringify({ txs: [{ id: 'tx-1', since: 1, ops }] })
  const answer = server
    .fetch(new Request(at('tx'), { method: 'POST', headers, body }))
    .then(async (response) => ({ after: server.clock.now() - start - sentAt, body: await response.json() }))
  await server.clock.advance(500)
  const delta = await (await server.fetch(new Request(at('delta?since=1'), { headers }))).json()
  const snapshot = await (await server.fetch(new Request(at('bootstrap'), { headers }))).json()
  const messages = pushes.map(({ message }) => message)
  const result = {
    answer: await answer,
    delta,
    snapshot,
    messages,
    pushedAfter: pushes.map((one) => one.at - sentAt),
  }
  await server.close()
  return result
}

const frame = { sid: 2, t: 'Issue', id: '1', op: 'u', p: { n: 2 }, at: expect.any(Number) }
const removal = { sid: 4, t: 'Issue', id: '2', op: 'd', at: expect.any(Number) }
const row = { t: 'Issue', id: '1', v: 2, p: { userId: 'ada', n: 2 } }

test('a bare server sends only the core of the protocol', async () => {
  const { answer, delta, snapshot } = await heard({})
  expect(snapshot).toEqual({ sid: 4, rows: [row] })
  expect(delta).toEqual({ sid: 4, frames: [frame, removal] })
  expect(answer.body).toEqual({ sid: 4, results: [{ id: 'tx-1', sid: 4 }] })
})

test('a bare server pushes frames without an extension, and no hello', async () => {
  const { messages } = await heard({})
  expect(messages).toEqual([[frame, { ...frame, sid: 3, id: '2', op: 'i', p: { userId: 'ada' } }, removal]])
})

test('a bare server may push each frame on its own, with `tx` and `since`', async () => {
  const { messages } = await heard({ pushes: 'frame', tx: true, since: true })
  expect(messages).toMatchObject([
    { since: 1, sid: 2, frames: [{ sid: 2, tx: 'tx-1' }] },
    { since: 2, sid: 3, frames: [{ sid: 3, tx: 'tx-1' }] },
    { since: 3, sid: 4, frames: [{ sid: 4, tx: 'tx-1' }] },
  ])
})

test('a bare server may send whole rows, which show no removal', async () => {
  const { delta, messages } = await heard({ deltas: 'rows', pushes: 'rows' })
  expect(delta).toEqual({ sid: 4, rows: [row] })
  expect(messages).toEqual([{ sid: 4, rows: [row] }])
})

test('a bare server may push the position alone', async () => {
  expect((await heard({ pushes: 'sid' })).messages).toEqual([{ sid: 4 }])
})

test('a bare server without a socket refuses it', async () => {
  expect((await heard({ socket: false })).messages).toEqual([])
})

test.each([
  ['before', -100, [0], 100],
  ['with', 0, [0], 0],
  ['after', 100, [100], 0],
])('a bare server may push %s its response', async (_, pushAfterMs, pushed, answered) => {
  const { pushedAfter, answer } = await heard({ pushAfterMs })
  expect(pushedAfter).toEqual(pushed)
  expect(answer.after).toBe(answered)
})

test.each<BareOptions>([
  {},
  { deltas: 'rows', pushes: 'rows' },
  { deltas: 'rows', socket: false },
  { socket: false, tx: true },
  { pushes: 'frame', since: true, pushAfterMs: 200 },
  { pushes: 'sid', pushAfterMs: -200 },
])('the write of a client before a bare server %j reaches another client', async (bare) => {
  const { server, client, other } = await scene(bare)
  expect(client.status.connection.state).toBe(bare.socket === false ? 'polling' : 'socket')
  const tx = client.mutate((m) => m.update('Issue', '1', { n: 2 }))
  await server.settle()
  await server.clock.advance(10_000)
  expect(tx.state).toBe('synced')
  expect(shown(other)).toEqual({ 1: { n: 2 } })
  await server.close()
})

test('held pushes of a bare server are those that it would send', async () => {
  const { server } = await scene({ pushes: 'sid' })
  server.hold()
  await server.write([{ op: 'u', t: 'Issue', id: '1', p: { n: 2 } }])
  expect(server.held.map(({ message }) => message)).toEqual([{ sid: 2 }, { sid: 2 }])
  await server.close()
})

test.each([
  [{ bare: true }, 'bare'],
  [{ bare: { delta: 'rows' } }, 'bare.delta'],
  [{ bare: { deltas: 'row' } }, 'bare.deltas'],
  [{ bare: { tx: 'no' } }, 'bare.tx'],
])('a server refuses %j', (options, option) => {
  const make = mockSyncServer as unknown as (options: unknown) => unknown
  expect(() => make(options)).toThrow(expect.objectContaining({ name: 'ConfigurationError', option }))
})
