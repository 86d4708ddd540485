import { describe, expect, test } from 'vitest'
import { faults } from '../support/bare-server-faults.ts'
import { Device, inStep, shown } from '../support/device.ts'

describe('the pace of asking', () => {
  test.each([
    ['404 with a socket', faults.answer(404), {}],
    ['410 without a socket', faults.gone(), { WebSocket: undefined }],
  ])(
    'invariant 66: if every delta is refused, the client makes few bootstraps in an hour: %s',
    async (_, fault, options) => {
      const device = new Device({ push: 'none' })
      device.insert('1')
      await device.live({ environment: { ...device.environment, ...options } })
      device.server.failNext(fault, { times: 100_000, path: 'delta' })
      const asked = device.requests.length
      await device.clock.advance(3_600_000)
      const bootstraps = device.requests.slice(asked).filter((request) => request === 'bootstrap')
      expect(bootstraps.length).toBeGreaterThan(0)
      expect(bootstraps.length).toBeLessThan(6)
    },
  )

  test('`Retry-After` holds, even if the page becomes visible', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const client = await device.live({ environment: { ...device.environment, WebSocket: undefined } })
    device.server.failNext(faults.tooMany('60'), { times: 100, path: 'delta' })
    await expect(device.clock.until(client.sync())).rejects.toThrow('429')
    const asked = device.requests.length
    for (let time = 0; time < 10; time += 1) {
      device.toFront()
      await device.clock.advance(2_000)
    }
    expect(device.requests.length).toBe(asked)
    device.server.heal()
    await device.clock.advance(50_000)
    expect(client.status.data.state).toBe('current')
  })

  test('`Retry-After` counts for an hour at most', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const client = await device.live({ environment: { ...device.environment, WebSocket: undefined } })
    device.server.failNext(faults.tooMany('604800'), { path: 'delta' })
    await expect(device.clock.until(client.sync())).rejects.toThrow('429')
    const asked = device.requests.length
    await device.clock.advance(3_590_000)
    expect(device.requests.length).toBe(asked)
    await device.clock.advance(20_000)
    expect(client.status.data.state).toBe('current')
  })

  test('a handler whose new tokens are all refused causes requests with backoff', async () => {
    const device = new Device()
    device.network.latencyMs = 75
    let asked = 0
    const onUnauthenticated = async () => {
      asked += 1
      return `bad${asked}`
    }
    await device.live({ token: () => `bad${asked}`, onUnauthenticated })
    await device.clock.advance(60_000)
    expect(asked).toBeGreaterThan(2)
    expect(device.requests.length).toBeLessThan(80)
  })

  test('a server that pushes nothing is polled at the normal pace', async () => {
    const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
    device.insert('2')
    for (let time = 0; time < 10; time += 1) {
      device.push('ping')
      await device.clock.advance(20_000)
    }
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })

  test.each([
    ['a gap', { since: 1_000, sid: 1_001, frames: [] }],
    ['a later position', { sid: 1_001, frames: [] }],
    ['a broken frame', { since: 0, sid: 1_001, frames: [{ op: 'i' }] }],
    ['a hello', { hello: { sid: 1_001 } }],
  ])(
    'after pushes that no delta contains, deltas are requested less and less often: %s',
    async (_, message) => {
      const { device } = await inStep({ 1: {} })
      const asked = device.requests.length
      for (let time = 0; time < 200; time += 1) {
        device.push(message)
        await device.clock.advance(50)
      }
      expect(device.requests.length - asked).toBeGreaterThan(2)
      expect(device.requests.length - asked).toBeLessThan(6)
      expect(device.log.filter((line) => line.startsWith('error'))).toEqual([])
    },
  )

  test('a push that the confirming delta does not reach is confirmed a second later', async () => {
    const { device } = await inStep({ 1: {} })
    for (let sid = 1; sid < 5; sid += 1) {
      const asked = device.requests.length
      device.server.failNext(faults.answer(200, `{"sid":${sid},"frames":[]}`), { path: 'delta' })
      device.insert(`${sid + 1}`)
      await device.clock.advance(3_000)
      expect(device.requests.slice(asked)).toEqual([`delta ${sid}`, `delta ${sid}`])
    }
  })

  test('a change that another fetch confirms is not requested again', async () => {
    const { device, client } = await inStep({ 1: {} })
    const asked = device.requests.length
    device.insert('2')
    await device.clock.advance(100)
    await device.clock.until(client.sync())
    device.push('{"anything":true}')
    await device.clock.advance(100)
    await device.clock.until(client.sync())
    await device.clock.advance(10_000)
    expect(device.requests.slice(asked)).toEqual(['delta 1', 'delta 2'])
  })

  test('unconfirmed pushes are dropped beyond a thousand', async () => {
    const { device, client } = await inStep({ 1: {} })
    device.server.failNext(faults.answer(500), { times: 1_000, path: 'delta' })
    for (let n = 0; n < 1_500; n += 1) device.update('1', { n })
    await device.clock.advance(1_000)
    expect(client.lastSyncId).toBe(1_001)
    device.server.heal()
    await device.clock.advance(60_000)
    expect([client.lastSyncId, shown(client)]).toEqual([1_501, { 1: { n: 1_499 } }])
  })
})
