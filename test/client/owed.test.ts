import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'
import { models, restarted } from '../support/lazy-types.ts'
import { watching } from '../support/watching-store.ts'

const hour = 3_600_000

/** What tells of a record to those who have it, and nothing to this client. */
const misleading = {
  'an update of a record that is not here': { op: 'u' },
  'a frame that cannot be read': { op: 'explode' },
}

test.each(Object.entries(misleading))(
  'invariant 65: what a repair is owed for, %s, is repaired after a restart, when the hour is over',
  async (_, { op }) => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    let client = await device.live()
    for (const id of ['2', '3']) {
      const sid = device.insert(id)
      const body = JSON.stringify({ sid, frames: [{ sid, t: 'Issue', id, op, p: {} }] })
      // The first one is repaired at once.
      device.server.failNext(faults.answer(200, body), { path: 'delta' })
      await device.clock.until(client.sync())
      await device.clock.advance(600_000)
    }
    const asked = device.requests.filter((path) => path === 'bootstrap').length
    for (const quarter of [1, 2, 3]) {
      await device.quit()
      client = await device.live()
      expect([quarter, shown(client)]).toEqual([quarter, { 1: {}, 2: {} }])
      await device.clock.advance(hour / 6)
    }
    await device.clock.advance(hour / 2)
    expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
    await device.quit()
    await device.live()
    await device.clock.advance(2 * hour)
    expect(device.requests.filter((path) => path === 'bootstrap')).toHaveLength(asked + 1)
  },
)

test('while a repair is owed, fetching stores nothing but what it brings', async () => {
  let writes = 0
  const store = watching(memoryStore(), ({ mode }) => {
    if (mode === 'write') writes += 1
  })
  const device = new Device({ store, push: 'none' })
  device.insert('1')
  const client = await device.live()
  for (const id of ['2', '3']) {
    device.update(id, {})
    await device.clock.until(client.sync())
    await device.clock.advance(1_000)
  }
  writes = 0
  for (let n = 0; n < 5; n += 1) await device.clock.until(client.sync())
  expect(writes).toBe(0)
})

describe('a change to a record that is not there, of a type that is on the disk alone', () => {
  const told = 'anomaly unknown_record: A change came for Issue 1, which is not here.'

  /** A device on whose disk is a lazy issue, with a client that hears of its removal and then of a change to it. */
  async function misled() {
    const { device, client } = await restarted({}, new Device({ push: 'none' }))
    const sid = device.server.write('ada', [{ op: 'i', t: 'Project', id: 'p', p: {} }])
    const frames = ['d', 'u', 'u'].map((op) => ({ sid, op, t: 'Issue', id: '1', p: { n: 1 } }))
    device.server.sockets.send('ada', JSON.stringify({ since: sid - 1, sid, frames }))
    await device.clock.advance(1_000)
    expect(device.log).toEqual([])
    return { device, client }
  }

  test('is told and repaired once it is loaded, though it was removed before', async () => {
    const { device, client } = await misled()
    await device.clock.until(client.load('Issue'))
    await device.clock.advance(5_000)
    expect(device.log).toEqual([told, 'reset repair since 2'])
    expect(shown(client)).toEqual({ 1: { title: 'Milk' } })
  })

  test.each([
    ['in time for the restart', true],
    ['later', false],
  ])('is told and repaired after a restart, where the type is used %s', async (_, inTime) => {
    const { device } = await misled()
    await device.quit()
    const client = device.client({ models })
    if (inTime) client.count('Issue')
    await client.start()
    await device.clock.advance(1_000)
    if (!inTime) await device.clock.until(client.load('Issue'))
    await device.clock.advance(5_000)
    expect(device.log).toEqual([told, 'reset repair since 2'])
    expect(shown(client)).toEqual({ 1: { title: 'Milk' } })
  })
})
