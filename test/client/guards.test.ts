import { describe, expect, test } from 'vitest'
import { type BareFault, faults } from '../support/bare-server-faults.ts'
import { Device, inStep, shown } from '../support/device.ts'

/** A client whose socket the server has forgotten, without a word, with a change that it was not told of. */
async function forgotten() {
  const { device, client } = await inStep({ 1: {} }, { pollInterval: 3_600_000 }, { push: 'none' })
  device.push('{"hello":{"sid":1,"heartbeatMs":5000}}')
  await device.clock.advance(100)
  device.server.sockets.silent = true
  device.insert('2')
  return { device, client }
}

const json = (body: object): BareFault => faults.answer(200, JSON.stringify(body))

/** Deltas that each ask for a snapshot, and that no snapshot mends. */
const causes: { readonly [name: string]: BareFault } = {
  'the history is gone': faults.gone(),
  'it conflicts': faults.answer(409),
  'it is refused': faults.answer(400),
  'it ends before our position': json({ sid: 0, frames: [] }),
  'its epoch is another than the snapshot’s': json({ sid: 1, epoch: 'other', frames: [] }),
  'a frame cannot be read': json({ sid: 1, frames: [{ sid: 1, op: 'explode', t: 'Issue', id: '1' }] }),
  'a record is not here': json({ sid: 2, frames: [{ sid: 2, op: 'u', t: 'Issue', id: 'lost', p: {} }] }),
}

describe.each(Object.entries(causes))('if every delta says that %s', (_, fault) => {
  test.each([
    ['with a socket', {}],
    ['without', { WebSocket: undefined }],
  ])(
    'invariant 11, invariant 66: %s, the client fetches few snapshots in an hour, and recovers',
    async (_, options) => {
      const device = new Device({ push: 'none' })
      device.insert('1')
      const snapshot = json({ sid: 1, epoch: 'own', rows: [{ t: 'Issue', id: '1', p: {} }] })
      device.server.failNext(snapshot, { path: '/bootstrap', times: 100 })
      const client = await device.live({ environment: { ...device.environment, ...options } })
      device.server.failNext(fault, { path: '/delta', times: 1_000 })
      const asked = device.requests.length
      await device.clock.advance(3_600_000)
      const requests = device.requests.slice(asked)
      expect(requests.filter((request) => request === 'bootstrap').length).toBeLessThan(6)
      expect(requests.length).toBeLessThan(600)
      expect(shown(client)).toEqual({ 1: {} })

      device.server.heal()
      device.insert('2')
      await device.clock.advance(3_700_000)
      expect(shown(client)).toEqual({ 1: {}, 2: {} })
      expect(client.status.data.state).toBe('current')
      await device.quit()
    },
  )
})

test('invariant 52: every explicit sync of the application is sent, however often', async () => {
  const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
  device.network.latencyMs = 0
  const asked = device.requests.length
  for (let time = 0; time < 20; time += 1) await device.clock.until(client.sync())
  expect(device.requests.length - asked).toBe(20)
  expect(device.log).toEqual([])
})

test('invariant 50: a dead socket is replaced after two missing heartbeats', async () => {
  const { device, client } = await forgotten()
  await device.clock.advance(9_800)
  expect([device.server.sockets.opened, shown(client)]).toEqual([1, { 1: {} }])
  await device.clock.advance(4_500)
  expect([device.server.sockets.opened, shown(client)]).toEqual([2, { 1: {}, 2: {} }])
})

test.each([
  ['at once when the page is looked at again', { visible: false }, { visible: true }, 200],
  ['within 4 s when the network comes back', { online: false }, { online: true }, 4_200],
])('invariant 50: and %s', async (_, before, after, ms) => {
  const { device, client } = await forgotten()
  await device.clock.advance(5_500)
  device.environment.lifecycle.set(before)
  device.environment.lifecycle.set(after)
  await device.clock.advance(ms)
  expect([device.server.sockets.opened, shown(client)]).toEqual([2, { 1: {}, 2: {} }])
})
