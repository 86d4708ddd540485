import { describe, expect, test } from 'vitest'
import { faults } from '../support/bare-server-faults.ts'
import { Device, inStep, shown } from '../support/device.ts'

const json = (body: object) => faults.answer(200, JSON.stringify(body))

describe('a repair', () => {
  test('invariant 65: that comes too early is made later, so that nothing stays missing', async () => {
    const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
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

  test('with an older snapshot is followed by a delta, and all is stored', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    device.insert('2')
    const client = await device.live({ environment: { ...device.environment, WebSocket: undefined } })
    device.insert('3')
    const broken = { sid: 3, op: 'x', t: 'Issue', id: '3' }
    device.server.failNext(json({ sid: 3, frames: [broken] }), { path: 'delta' })
    device.server.failNext(json({ sid: 1, rows: [{ t: 'Issue', id: '1', p: {} }] }), { path: 'bootstrap' })
    await device.clock.until(client.sync())
    await device.clock.advance(1_000)
    expect([client.lastSyncId, shown(client)]).toEqual([3, { 1: {}, 2: {}, 3: {} }])
    expect(client.status.storage.reason).toBeUndefined()
    const again = await device.offline()
    expect([again.lastSyncId, shown(again)]).toEqual([3, { 1: {}, 2: {}, 3: {} }])
  })

  test('that a restart interrupts is still made', async () => {
    const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
    const sid = device.insert('2')
    const frame = { sid, t: 'Issue', id: '2', op: 'u', p: {} }
    device.server.failNext(json({ sid, frames: [frame] }), { path: 'delta' })
    device.server.failNext(faults.answer(500, ''), { path: 'bootstrap' })
    await device.clock.until(client.sync().catch(() => {}))
    const again = await device.restart()
    expect(shown(again)).toEqual({ 1: {}, 2: {} })
  })

  test('a field `op` of a row has no meaning', async () => {
    const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
    const sid = device.insert('1', { n: 2 })
    const row = { t: 'Issue', id: '1', p: { n: 2 }, op: 'd' }
    device.server.failNext(json({ sid, rows: [row] }), { path: 'delta' })
    await device.clock.until(client.sync())
    expect(shown(client)).toEqual({ 1: { n: 2 } })
  })

  test('an unchanged row emits no `change`', async () => {
    const { device, client } = await inStep({ 1: { a: 1 } }, {}, { delta: 'rows', push: 'none' })
    const changes: unknown[] = []
    client.on('change', (change) => changes.push(change))
    device.update('1', {})
    await device.clock.until(client.sync())
    expect(changes).toEqual([])
  })
})

describe('a snapshot whose position is below the last removal', () => {
  test('is followed by a delta with removals of unknown records, without an anomaly', async () => {
    const device = new Device({ snapshotTo: 'rows' })
    device.insert('2')
    device.insert('1')
    device.update('2', { n: 1 })
    device.remove('2')
    const client = await device.live()
    expect([client.lastSyncId, shown(client), device.log]).toEqual([4, { 1: {} }, []])
  })

  test('repairs missing records', async () => {
    const { device, client } = await inStep({ 1: {}, 2: {} }, {}, { snapshotTo: 'rows' })
    const sid = device.insert('9')
    const moved = { sid, t: 'Issue', id: '9', op: 'u', p: {} }
    const removal = { sid: sid + 1, t: 'Issue', id: '2', op: 'd' }
    device.server.failNext(json({ sid: sid + 1, frames: [moved, removal] }), { path: 'delta' })
    device.remove('2')
    await device.clock.advance(2_000)
    expect(shown(client)).toEqual({ 1: {}, 9: {} })
    await device.clock.until(client.sync())
    expect(client.lastSyncId).toBe(sid + 1)
    expect(device.log).toEqual([
      'anomaly unknown_record: The server updated an unknown record: Issue 9.',
      `reset repair since ${sid + 1}`,
    ])
  })
})
