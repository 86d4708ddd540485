import { expect, test } from 'vitest'
import { NaiveCopy, Oracle } from '../support/oracle.ts'
import { virtualEnvironment } from '../support/virtual-environment.ts'
import { VirtualNetwork } from '../support/virtual-network.ts'
import { insert, serviceOf, update } from './harness.ts'

/** A device in virtual time, on its way to a service in virtual time. */
async function deviceOf(options?: Parameters<typeof serviceOf>[0]) {
  const { service, clock } = serviceOf(options)
  await service.ready()
  const network = new VirtualNetwork({ clock, server: service, latencyMs: 30 })
  const environment = virtualEnvironment({ seed: 1, clock, network })
  const headers = { authorization: 'Bearer token-of-ann' }
  const ask = async (path: string) =>
    (await environment.fetch(`https://sync.test/sync/v1/${path}`, { headers })).json()
  const connect = (token = 'token-of-ann') => {
    if (!environment.WebSocket) throw new Error('No sockets.')
    const socket = new environment.WebSocket(`wss://sync.test/sync/v1/ws?token=${token}`)
    const log: unknown[] = []
    const start = clock.now()
    socket.onmessage = ({ data }) => log.push([clock.now() - start, JSON.parse(String(data))])
    socket.onclose = ({ code }) => log.push([clock.now() - start, code])
    return log
  }
  return { service, clock, network, ask, connect }
}

test('a service stands behind a virtual network as it is, in virtual time', async () => {
  const { service, clock, ask, connect } = await deviceOf({ heartbeatMs: 1_000 })
  const oracle = new Oracle()
  const copy = new NaiveCopy()
  const ops = [insert('1', { n: 1 }), update('1', { n: 2 }), insert('2', {}, 'bob')]
  oracle.write(ops)
  await service.write(ops)
  copy.bootstrap(await clock.until(ask('bootstrap')))
  expect(copy.facts).toEqual(oracle.visibleTo('ann'))

  const log = connect()
  await clock.advance(500)
  await service.write([update('1', { n: 3 })])
  await clock.advance(1_100)
  expect(log).toMatchObject([
    [60, { hello: { sid: 3 } }],
    [530, { since: 3, sid: 4, frames: [{ p: { n: 3 } }] }],
    [1_530, { since: 4, sid: 4, frames: [] }],
  ])
})

test('a refused socket is 1006, and one whose token ends is closed with 4401', async () => {
  const { clock, connect } = await deviceOf({
    authenticate: async ({ headers }) =>
      headers.get('authorization')?.endsWith('ann')
        ? { userId: 'ann', expiresAt: clock.now() + 5_000 }
        : null,
  })
  const [refused, ending] = [connect('other'), connect()]
  await clock.advance(10_000)
  expect(refused).toEqual([[60, 1006]])
  expect(ending.at(-1)).toEqual([5_060, 4401])
})

test('a device in a black hole is cut by the service, and the service keeps no more for it than it may', async () => {
  const { service, clock, network, connect } = await deviceOf({ maxBufferedBytes: 5_000 })
  const log = connect()
  await clock.advance(100)
  network.blackHole()
  for (let n = 0; n < 100; n += 1) {
    await service.write([insert(String(n), { text: 'x'.repeat(500) })])
    await clock.advance(10)
  }
  // The reading of the log, and the end of the socket that is being closed.
  expect(clock.timers).toBeLessThanOrEqual(2)
  await clock.advance(60_000)
  expect(clock.timers).toBe(1)
  expect(log).toHaveLength(1)
})
