import { describe, expect, test } from 'vitest'
import { faults } from '../support/bare-server-faults.ts'
import { Device, inStep, shown } from '../support/device.ts'

/** A device that has stored `1` and `2`, and was off while `2` became `3`. */
async function away(options: ConstructorParameters<typeof Device>[0] = {}) {
  const { device } = await inStep({ 1: {}, 2: {} }, {}, options)
  await device.quit()
  device.remove('2')
  device.insert('3')
  return device
}

describe('a client that was away longer than the server keeps changes', () => {
  test.each([410, 409])(
    'invariant 10: gets %i, shows its data until a snapshot is loaded, and reports why',
    async (status) => {
      const device = await away()
      device.network.chunkMs = 500
      device.server.behaviour.chunkBytes = 20
      device.server.failNext(faults.answer(status), { path: '/delta' })
      const client = device.client()
      const seen: string[] = []
      client.on('change', () => seen.push(JSON.stringify(shown(client))))
      await client.start()
      await device.clock.advance(500)
      expect(shown(client)).toEqual({ 1: {}, 2: {} })
      await device.clock.advance(20_000)
      expect(seen).toEqual(['{"1":{},"2":{}}', '{"1":{},"3":{}}'])
      expect(device.log).toEqual(['reset gone since 2'])
      expect(client.status).toMatchObject({ data: { state: 'current' }, connection: { state: 'socket' } })
    },
  )

  test('says that there were too many changes, if the service does', async () => {
    const device = await away()
    const body = '{"error":{"code":"too_many_changes","message":"Too many changes."}}'
    device.server.failNext(faults.answer(410, body), { path: '/delta' })
    await device.live()
    expect(device.log).toEqual(['reset too_many_changes since 2'])
  })

  test('invariant 10: keeps its data, also on disk, while the snapshot fails', async () => {
    const device = await away()
    device.server.failNext(faults.gone(), { path: '/delta', times: 1_000 })
    device.server.failNext(faults.truncated(0.9), { path: '/bootstrap', times: 1_000 })
    const client = await device.live()
    await device.clock.advance(120_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    const again = await device.restart()
    expect([again.lastSyncId, shown(again)]).toEqual([2, { 1: {}, 2: {} }])
    expect(device.log.filter((line) => line.startsWith('reset'))).toEqual([])
    device.server.heal()
    device.server.failNext(faults.gone(), { path: '/delta' })
    await device.clock.advance(60_000)
    expect([again.lastSyncId, shown(again)]).toEqual([4, { 1: {}, 3: {} }])
  })

  test('invariant 10: stores the snapshot, and continues from it after a restart', async () => {
    const device = await away()
    device.server.failNext(faults.gone(), { path: '/delta' })
    await device.live()
    await device.quit()
    const asked = device.requests.length
    const again = await device.live()
    expect(shown(again)).toEqual({ 1: {}, 3: {} })
    expect(new Set(device.requests.slice(asked))).toEqual(new Set(['ws', 'delta 4']))
  })
})

test.each([410, 409])('a snapshot that gets %i is requested again later', async (status) => {
  const device = new Device()
  device.insert('1')
  device.server.failNext(faults.answer(status), { path: '/bootstrap', times: 3 })
  const client = await device.live()
  await device.clock.advance(20_000)
  expect(shown(client)).toEqual({ 1: {} })
  expect(device.log.filter((line) => line.startsWith('reset'))).toEqual([])
})

describe('refusals of a delta', () => {
  /** What a client that polls does about answers of these statuses in a row; 200 is an answer as it should be. */
  async function resetsAfter(...statuses: number[]) {
    const device = new Device()
    device.insert('1')
    const client = await device.live({ environment: { ...device.environment, WebSocket: undefined } })
    // Until a delta has continued a snapshot, another one is not worth much.
    await device.clock.until(client.sync())
    for (const status of statuses) {
      if (status !== 200) device.server.failNext(faults.answer(status), { path: '/delta' })
      await device.clock.until(client.sync()).catch(() => undefined)
    }
    return device.log.filter((line) => line.startsWith('reset'))
  }

  test.each([400, 404, 405, 422])('cause a snapshot after three responses of %i', async (status) => {
    expect(await resetsAfter(status, status, status)).toEqual(['reset refused since 1'])
  })

  test('of different kinds, or with a delta between them, cause none', async () => {
    expect(await resetsAfter(400, 404, 400, 404, 400)).toEqual([])
    expect(await resetsAfter(400, 400, 200, 400, 400)).toEqual([])
  })

  test.each([403, 408, 425, 429, 500, 503])('of %i are temporary, and cause no snapshot', async (status) => {
    expect(await resetsAfter(status, status, status, status)).toEqual([])
  })
})

describe('a server that was restored from a backup', () => {
  test('invariant 11: is noticed by a client that was away, which then has the data of the server', async () => {
    const device = new Device({ deltaSid: 'head' })
    device.insert('1')
    const backup = device.server.data.backup()
    device.insert('2')
    device.insert('3')
    await device.live()
    await device.quit()
    device.server.data.restore(backup)
    const client = await device.live()
    expect([client.lastSyncId, shown(client)]).toEqual([1, { 1: {} }])
    expect(device.log).toEqual(['reset restored since 3'])
    device.insert('4')
    await device.clock.advance(2_000)
    const again = await device.offline()
    expect([again.lastSyncId, shown(again)]).toEqual([2, { 1: {}, 4: {} }])
  })

  test('invariant 11: is noticed each time', async () => {
    const device = new Device({ deltaSid: 'head' })
    device.insert('1')
    const backup = device.server.data.backup()
    const client = await device.live()
    for (let time = 0; time < 3; time += 1) {
      device.insert(`after ${time}`)
      await device.clock.advance(2_000)
      device.server.data.restore(backup)
      device.server.sockets.end()
      await device.clock.advance(90_000)
      expect(shown(client)).toEqual({ 1: {} })
    }
    expect(device.log).toEqual(['reset restored since 2', 'reset restored since 2', 'reset restored since 2'])
  })
})
