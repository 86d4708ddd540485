import { describe, expect, test } from 'vitest'
import { faults } from '../support/bare-server-faults.ts'
import { Device, inStep, shown } from '../support/device.ts'

describe.each(['frames', 'rows', 'row', 'both'] as const)('a delta as %s', (delta) => {
  test.each(['frames', 'head'] as const)(
    'brings one or more changes, and a restart continues from it (its sid that of the %s)',
    async (deltaSid) => {
      const { device, client } = await inStep(
        { 1: { n: 1 } },
        {},
        { delta, deltaSid, push: 'none', snapshotSid: 'last', chunkBytes: 7 },
      )
      device.update('1', { n: 2 })
      await device.clock.until(client.sync())
      expect(shown(client)).toEqual({ 1: { n: 2 } })
      device.update('1', { m: 3 })
      device.insert('2')
      const { kind, sid } = await device.clock.until(client.sync())
      expect([kind, sid]).toEqual(['delta', 4])
      const again = await device.offline()
      expect([again.lastSyncId, shown(again)]).toEqual([4, { 1: { n: 2, m: 3 }, 2: {} }])
    },
  )
})

test.each(['frame', 'frames', 'delta', 'sid', 'hint'] as const)(
  'a push as %s is shown and stored',
  async (push) => {
    const { device, client } = await inStep({ 1: {} }, {}, { push })
    device.update('1', { n: 2 })
    device.insert('2')
    await device.clock.advance(2_000)
    expect(shown(client)).toEqual({ 1: { n: 2 }, 2: {} })
    const again = await device.offline()
    expect([again.lastSyncId, shown(again)]).toEqual([3, { 1: { n: 2 }, 2: {} }])
  },
)

test.each(['rows', 'row'] as const)(
  'a pushed removal is kept and stored, though deltas as %s do not contain it',
  async (delta) => {
    const device = new Device({ delta, push: 'frame' })
    for (const id of ['1', '2', '3']) device.insert(id)
    const client = await device.live()
    device.remove('1')
    device.remove('2')
    device.insert('2', { n: 2 })
    await device.clock.advance(2_000)
    expect([client.lastSyncId, shown(client)]).toEqual([6, { 2: { n: 2 }, 3: {} }])
    const again = await device.offline()
    expect([again.lastSyncId, shown(again)]).toEqual([6, { 2: { n: 2 }, 3: {} }])
  },
)

test.each([0, -1])('at position %d the client fetches no delta', async (sid) => {
  const device = new Device({ push: 'none' })
  device.server.failNext(faults.answer(200, `{"sid":${sid},"rows":[]}`), { path: 'bootstrap', times: 2 })
  const client = device.client()
  for (const turn of [1, 2]) {
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', sid })
    expect(device.requests).toHaveLength(turn)
  }
  expect(client.lastSyncId).toBe(sid)
})
