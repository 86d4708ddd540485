import { describe, expect, test } from 'vitest'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'

const json = (body: object) => faults.answer(200, JSON.stringify(body))

describe('a repair', () => {
  test('invariant 65: that may not be made yet is made later, so that nothing stays missing', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const client = await device.live()
    const moved = async (id: string) => {
      const sid = device.insert(id)
      const frame = { sid, t: 'Issue', id, op: 'u', p: {} }
      device.server.failNext(json({ sid, frames: [frame] }), { path: 'delta' })
      await device.clock.until(client.sync())
    }
    await moved('2')
    await device.clock.advance(600_000)
    await moved('3')
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    await device.clock.advance(3_600_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
  })

  test('that brings an older snapshot leaves nothing that is called durable and is not', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    device.insert('2')
    const client = await device.live({ world: { ...device.world, WebSocket: undefined } })
    device.insert('3')
    const broken = { sid: 3, op: 'x', t: 'Issue', id: '3' }
    device.server.failNext(json({ sid: 3, frames: [broken] }), { path: 'delta' })
    device.server.failNext(json({ sid: 1, rows: [{ t: 'Issue', id: '1', p: {} }] }), { path: 'bootstrap' })
    await expect(device.clock.until(client.sync())).rejects.toThrow('continue')
    device.insert('4')
    await expect(device.clock.until(client.sync())).rejects.toThrow('continue')
    expect(client.status.storage.reason).toMatch('continue')
    await device.clock.advance(3_700_000)
    await device.clock.until(client.sync())
    expect(client.status.storage.reason).toBeUndefined()
    await device.quit()
    device.network.cut()
    const again = device.client()
    await again.start()
    expect([again.lastSyncId, shown(again)]).toEqual([4, { 1: {}, 2: {}, 3: {}, 4: {} }])
  })

  test('a field `op` of a row means nothing', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const client = await device.live()
    const sid = device.insert('1', { n: 2 })
    const row = { t: 'Issue', id: '1', p: { n: 2 }, op: 'd' }
    device.server.failNext(json({ sid, rows: [row] }), { path: 'delta' })
    await device.clock.until(client.sync())
    expect(shown(client)).toEqual({ 1: { n: 2 } })
  })

  test('a row that comes as it was makes no `change`', async () => {
    const device = new Device({ delta: 'rows', push: 'none' })
    device.insert('1', { a: 1 })
    const client = await device.live()
    const changes: unknown[] = []
    client.on('change', (change) => changes.push(change))
    device.update('1', {})
    await device.clock.until(client.sync())
    expect(changes).toEqual([])
  })
})
