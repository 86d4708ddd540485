import { beforeEach, expect, test } from 'vitest'
import { BareServer } from '../support/bare-server.ts'
import { virtualMount } from '../support/bare-server-listen.ts'
import { VirtualClock, VirtualNetwork, virtualEnvironment } from '../support/virtual.ts'

let clock: VirtualClock
let server: BareServer
let network: VirtualNetwork
let token: string

beforeEach(() => {
  clock = new VirtualClock(0)
  server = new BareServer({ now: () => clock.now(), text: 'compact' })
  network = new VirtualNetwork({ clock, server: virtualMount(server), latencyMs: 50 })
  token = server.tokens.issue('ann')
})

/** A socket, and all that happens to it with its time. */
function open(query = `?token=${token}`, sendsHeaders = false) {
  const { WebSocket } = virtualEnvironment({ seed: 1, clock, network, sendsHeaders })
  if (!WebSocket) throw new Error('No sockets.')
  const options = { headers: { authorization: `Bearer ${token}` } }
  const socket = new WebSocket(`wss://sync.test/sync/v1/ws${query}`, [], options)
  const seen: unknown[] = []
  socket.onopen = () => seen.push(['open', clock.now()])
  socket.onmessage = ({ data }) => seen.push(['message', clock.now(), JSON.parse(String(data)).sid])
  socket.onerror = () => seen.push(['error', clock.now()])
  socket.onclose = ({ code }) => seen.push(['close', clock.now(), code])
  return { socket, seen }
}

const write = (id: string) => server.write('ann', [{ op: 'i', t: 'Todo', id, p: {} }])

test('a socket opens, delivers pushes in order, and closes with a handshake', async () => {
  const { socket, seen } = open()
  expect(socket.readyState).toBe(0)
  await clock.advance(100)
  write('1')
  network.latencyMs = 5
  write('2')
  await clock.advance(100)
  socket.close(4000)
  expect(socket.readyState).toBe(2)
  await clock.advance(100)
  expect(seen).toEqual([
    ['open', 100],
    ['message', 150, 1],
    ['message', 150, 2],
    ['close', 210, 4000],
  ])
  expect(socket.readyState).toBe(3)
  expect(server.sockets.count()).toBe(0)
  expect(network.sockets).toBe(0)
})

test('a socket in a black hole is silent, stays dead, and takes half a minute to close', async () => {
  const { socket, seen } = open()
  await clock.advance(100)
  network.blackHole()
  write('1')
  await clock.advance(1_000)
  network.mend()
  write('2')
  await clock.advance(1_000)
  expect(seen).toEqual([['open', 100]])
  expect(server.sockets.count()).toBe(1)
  socket.close()
  await clock.advance(30_000)
  expect(seen).toContainEqual(['close', 32_100, 1006])
})

test('a server that closes a socket in a black hole keeps it for half a minute', async () => {
  const { seen } = open()
  await clock.advance(100)
  network.blackHole()
  server.sockets.end(1012)
  await clock.advance(29_999)
  expect(server.sockets.count()).toBe(1)
  await clock.advance(1)
  expect(server.sockets.count()).toBe(0)
  expect(seen).toEqual([['open', 100]])
})

test('no message comes after a close, and a second close has no effect', async () => {
  const [here, there] = [open(), open()]
  await clock.advance(100)
  write('1')
  here.socket.close(1000)
  here.socket.close(4000)
  await clock.advance(100)
  server.sockets.end(1012)
  write('2')
  await clock.advance(100)
  expect(here.seen).toEqual([
    ['open', 100],
    ['close', 200, 1000],
  ])
  expect(there.seen).toEqual([
    ['open', 100],
    ['message', 150, 1],
    ['close', 250, 1012],
  ])
})

test('a socket refuses what a browser refuses', async () => {
  const { socket } = open()
  expect(() => socket.send('x')).toThrow('opening')
  expect(() => socket.close(1001)).toThrow('1001')
})
