import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'
import { bootstraps, mislead } from '../support/misled.ts'
import { watching } from '../support/watching-store.ts'

const hour = 3_600_000

/** A device on which a repair was made for the record `2`, and is owed for the record `3`. */
async function owing(device = new Device({ push: 'none' }), op?: string) {
  device.insert('1')
  const client = await device.live()
  for (const id of ['2', '3']) await mislead(device, client, id, op)
  expect(shown(client)).toEqual({ 1: {}, 2: {} })
  return { device, client }
}

test.each([
  ['an update of a record that is not here', 'u'],
  ['a frame that cannot be read', 'explode'],
])(
  'invariant 65: what a repair is owed for, %s, is repaired after a restart, when the hour is over',
  async (_, op) => {
    const { device } = await owing(undefined, op)
    const before = bootstraps(device)
    let client = await device.live()
    for (const quarter of [1, 2, 3]) {
      await device.clock.advance(hour / 6)
      await device.quit()
      client = await device.live()
      expect([quarter, shown(client)]).toEqual([quarter, { 1: {}, 2: {} }])
    }
    await device.clock.advance(hour / 2 + 120_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
    await device.quit()
    await device.live()
    await device.clock.advance(2 * hour)
    expect(bootstraps(device)).toBe(before + 1)
  },
)

test('restarts do not make repairs more frequent', async () => {
  const device = new Device({ push: 'none' })
  device.insert('1')
  await device.live()
  const before = bootstraps(device)
  for (let n = 0; n < 6; n += 1) {
    await device.quit()
    await mislead(device, await device.live(), `x${n}`)
  }
  expect(bootstraps(device) - before).toBe(1)
})

test('a repair that cannot be made holds nothing up, and is tried less and less often', async () => {
  const { device } = await owing()
  await device.quit()
  await device.clock.advance(hour)
  device.server.failNext(faults.answer(503, ''), { path: 'bootstrap', times: 50 })
  device.insert('4')
  const client = await device.live()
  const before = bootstraps(device)
  await device.clock.advance(10 * 60_000)
  expect(shown(client)).toEqual({ 1: {}, 2: {}, 4: {} })
  expect(client.status.data.state).toBe('current')
  await device.clock.advance(5 * hour)
  // After 1, 4, 16 and 60 minutes.
  expect(bootstraps(device) - before).toBe(7)
  await device.quit()
  device.network.cut()
  expect(shown(await device.live())).toEqual({ 1: {}, 2: {}, 4: {} })
})

test('an owed repair is made when the hour is over, also over a socket that keeps the client from polling', async () => {
  const { device, client } = await owing()
  const { lastSyncId: sid } = client
  const send = (message: object) => device.server.sockets.send('ada', JSON.stringify(message))
  send({ hello: { sid, heartbeatMs: 25_000 } })
  for (let ms = 0; ms < hour + 60_000; ms += 25_000) {
    send({ since: sid, sid, frames: [] })
    await device.clock.advance(25_000)
  }
  expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
})

test('a snapshot for another reason brings what a repair was owed for, and counts as none: the last one was within the hour', async () => {
  const { device, client } = await owing()
  device.server.failNext(faults.gone(), { path: 'delta' })
  await device.clock.until(client.sync())
  expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
  const before = bootstraps(device)
  await mislead(device, client, '4')
  expect([bootstraps(device) - before, shown(client)]).toEqual([0, { 1: {}, 2: {}, 3: {} }])
  await device.clock.advance(hour + 120_000)
  expect([bootstraps(device) - before, shown(client)]).toEqual([1, { 1: {}, 2: {}, 3: {}, 4: {} }])
})

test('while a repair is owed, fetching stores nothing but what it brings', async () => {
  let writes = 0
  const store = watching(memoryStore(), ({ mode }) => {
    if (mode === 'write') writes += 1
  })
  const { device, client } = await owing(new Device({ store, push: 'none' }))
  writes = 0
  for (let n = 0; n < 5; n += 1) await device.clock.until(client.sync())
  expect(writes).toBe(0)
})
