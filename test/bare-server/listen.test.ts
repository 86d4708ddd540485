import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { BareServer } from '../support/bare-server.ts'
import { faults } from '../support/bare-server-faults.ts'
import { type ListeningBareServer, listen } from '../support/bare-server-listen.ts'

let server: BareServer
let mount: ListeningBareServer
let token: string

beforeEach(async () => {
  server = new BareServer()
  token = server.tokens.issue('ann')
  server.write('ann', [{ op: 'i', t: 'Todo', id: '1', p: { title: 'ü'.repeat(100) } }])
  mount = await listen(server)
})

afterEach(() => mount.close())

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${mount.baseUrl}${path}`, { headers: { authorization: `Bearer ${token}` }, ...init })

const connect = (query = `?token=${token}`) =>
  new WebSocket(`${mount.baseUrl.replace('http', 'ws')}/ws${query}`)

test('a snapshot comes through compression and through any chunks', async () => {
  server.behaviour.gzip = true
  const compressed = await ask('/bootstrap')
  expect(compressed.headers.get('content-encoding')).toBe('gzip')
  expect(await compressed.json()).toMatchObject({ sid: 1, rows: [{ id: '1' }] })
  server.behaviour.gzip = false
  server.behaviour.chunkBytes = 3
  expect(await (await ask('/bootstrap')).json()).toMatchObject({ rows: [{ p: { title: 'ü'.repeat(100) } }] })
})

test('a body can break off, end too early, or be no gzip', async () => {
  server.failNext(faults.truncated(0.5, 'cut'))
  await expect((await ask('/bootstrap')).text()).rejects.toThrow('terminated')
  server.failNext(faults.truncated(0.5, 'whole'))
  await expect((await ask('/bootstrap')).json()).rejects.toThrow('JSON')
  server.failNext(faults.badGzip())
  await expect((await ask('/bootstrap')).text()).rejects.toThrow('terminated')
})

test.each([faults.silent(), faults.truncated(0.5, 'stalled')])(
  'an answer can hang for ever',
  async (fault) => {
    server.failNext(fault)
    const hanging = ask('/bootstrap', { signal: AbortSignal.timeout(50) }).then((response) => response.text())
    await expect(hanging).rejects.toThrow('timeout')
  },
)

test('an answer can be of any status, a page, or a redirect', async () => {
  server.failNext(faults.portal())
  expect(await (await ask('/delta?since=0')).text()).toContain('<title>')
  server.failNext(faults.noContent())
  expect((await ask('/delta?since=0')).status).toBe(204)
  server.failNext(faults.redirect('/portal'))
  server.failNext(faults.portal(), { path: '/portal' })
  expect(await ask('/delta?since=0')).toMatchObject({ redirected: true, status: 200 })
})

test('a server that is down refuses connections, and comes back at its address', async () => {
  const socket = connect()
  await once(socket, 'open')
  const closed = once(socket, 'close')
  await mount.down()
  expect((await closed)[0]).toBe(1006)
  await expect(ask('/bootstrap')).rejects.toThrow('fetch failed')
  await mount.up()
  expect((await ask('/bootstrap')).status).toBe(200)
})

test('a socket is pushed what is written, and can be killed or closed', async () => {
  const socket = connect()
  await once(socket, 'open')
  expect(server.sockets.count('ann')).toBe(1)
  const message = once(socket, 'message')
  server.write('ann', [{ op: 'd', t: 'Todo', id: '1' }])
  expect(JSON.parse(String((await message)[0]))).toMatchObject({ sid: 2, op: 'd' })
  server.sockets.end()
  expect((await once(socket, 'close'))[0]).toBe(1006)
  const second = connect()
  await once(second, 'open')
  server.sockets.end(1012)
  expect((await once(second, 'close'))[0]).toBe(1012)
  expect(server.sockets).toMatchObject({ opened: 2 })
})

test('an upgrade without a valid token fails with HTTP 401', async () => {
  const [error] = await once(connect('?token=other'), 'error')
  expect(error.message).toContain('401')
})
