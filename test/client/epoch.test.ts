import { describe, expect, test } from 'vitest'
import { faults } from '../support/bare-server-faults.ts'
import { Device, inStep } from '../support/device.ts'

/** A client that polls, and what a delta of no changes with each of these epochs makes it do. */
async function resetsAfter(...epochs: (string | undefined)[]) {
  const device = new Device({ push: 'none' })
  device.insert('1')
  const client = await device.live({ environment: { ...device.environment, WebSocket: undefined } })
  for (const epoch of epochs) {
    const delta = JSON.stringify({ sid: 1, frames: [], epoch })
    device.server.failNext(faults.answer(200, delta), { path: '/delta' })
    await device.clock.until(client.sync())
  }
  return device.log
}

describe('an epoch', () => {
  test('that appears, disappears or comes back is not another history', async () => {
    expect(await resetsAfter(undefined, 'one', undefined, 'one')).toEqual([])
  })

  test('invariant 11: that differs from the last one is another history', async () => {
    expect(await resetsAfter('one', undefined, 'two')).toEqual(['reset epoch since 1'])
  })

  test('of another type is ignored', async () => {
    const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
    for (const epoch of ['one', 7, null, ['two']]) {
      device.answer('delta', { sid: 1, frames: [], epoch })
      await device.clock.until(client.sync())
    }
    expect(device.log).toEqual([])
  })

  test('in a push proves nothing: a delta over HTTP does', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const delta = faults.answer(200, '{"sid":1,"frames":[],"epoch":"one"}')
    device.server.failNext(delta, { path: '/delta', times: 3 })
    const client = await device.live()
    const asked = device.requests.length
    device.push('{"since":1,"sid":1,"frames":[],"epoch":"two"}')
    await device.clock.advance(2_000)
    expect(device.requests.slice(asked)).toEqual(['delta 1'])
    expect(device.log).toEqual([])
    expect(client.lastSyncId).toBe(1)
  })
})
