import { beforeEach, describe, expect, test } from 'vitest'
import { BareServer } from '../support/bare-server.ts'
import { faults } from '../support/bare-server-faults.ts'
import { type VirtualBareServer, virtualMount } from '../support/bare-server-listen.ts'
import { VirtualClock, VirtualNetwork } from '../support/virtual.ts'

let clock: VirtualClock
let server: BareServer
let mount: VirtualBareServer
let network: VirtualNetwork
let headers: Record<string, string>

beforeEach(() => {
  clock = new VirtualClock(0)
  server = new BareServer({ now: () => clock.now(), chunkBytes: 10 })
  mount = virtualMount(server)
  network = new VirtualNetwork({ clock, server: mount, latencyMs: 50 })
  headers = { authorization: `Bearer ${server.tokens.issue('ann')}` }
  server.write('ann', [{ op: 'i', t: 'Todo', id: '1', p: { title: 'first' } }])
})

const ask = (path = '/bootstrap', init: RequestInit = {}) =>
  network.fetch(`https://sync.test/sync/v1${path}`, { headers, ...init })

const text = async (path?: string, init?: RequestInit) => (await ask(path, init)).text()

test('a response takes the latency both ways, and arrives in chunks', async () => {
  const response = await clock.until(ask())
  expect(clock.now()).toBe(100)
  expect(server.requests[0]?.at).toBe(50)
  let chunks = 0
  for await (const _ of response.body ?? []) chunks += 1
  expect(chunks).toBeGreaterThan(5)
  expect(network.calls).toBe(0)
})

test('a signal ends a request before its response, and in the middle of its body', async () => {
  const controller = new AbortController()
  const early = ask('/bootstrap', { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(clock.until(early)).rejects.toThrow('enough')
  expect([server.requests, clock.timers]).toEqual([[], 0])

  const second = new AbortController()
  const reader = (await clock.until(ask('/bootstrap', { signal: second.signal }))).body?.getReader()
  await reader?.read()
  second.abort(new Error('enough now'))
  await expect(reader?.read()).rejects.toThrow('enough now')
  expect(network.calls).toBe(0)
})

describe('a black hole', () => {
  test('delivers nothing and fails nothing, even after `mend`', async () => {
    const begun = ask()
    await clock.advance(60)
    network.blackHole()
    const later = ask()
    let settled = 0
    for (const call of [begun, later]) call.finally(() => (settled += 1))
    await clock.advance(60_000)
    network.mend()
    await clock.advance(60_000)
    expect(settled).toBe(0)
    expect(server.requests).toHaveLength(1)
  })

  test('loses messages for good, however soon it is mended', async () => {
    network.blackHole()
    const lost = ask()
    await clock.advance(10)
    network.mend()
    await expect(clock.until(lost, 60_000)).rejects.toThrow('The promise is still pending')
    expect(server.requests).toEqual([])
  })
})

test('the faults of a bare server arrive as a real fetch has them', async () => {
  server.failNext(faults.truncated(0.5))
  await expect(clock.until(text())).rejects.toThrow('terminated')
  server.failNext(faults.badGzip())
  await expect(clock.until(text())).rejects.toThrow()
  server.failNext(faults.noContent())
  expect(await clock.until(ask())).toMatchObject({ status: 204, body: null })
  server.failNext(faults.silent())
  await expect(clock.until(ask(), 1_000_000)).rejects.toThrow('The promise is still pending')
  server.failNext(faults.redirect('/portal'))
  server.failNext(faults.portal(), { path: '/portal' })
  expect(await clock.until(text())).toContain('<title>')
  server.failNext(faults.redirect('/portal'))
  await expect(clock.until(ask('/bootstrap', { redirect: 'error' }))).rejects.toThrow(TypeError)
})
