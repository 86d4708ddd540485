import { describe, expect, test } from 'vitest'
import { faults } from '../support/bare-server-faults.ts'
import { Device, inStep, shown } from '../support/device.ts'

describe('a bootstrap', () => {
  test('invariant 8, invariant 10: removes absent records in the same step in which the position changes', async () => {
    const { device, client } = await inStep({ 1: {}, 2: {} })
    const steps: unknown[] = []
    client.on('status', ({ lastSyncId }) => steps.push([lastSyncId, ...Object.keys(shown(client))]))
    device.server.sockets.end()
    device.remove('1')
    device.insert('3')
    device.server.failNext(faults.gone(), { path: '/delta' })
    await device.clock.advance(5_000)
    expect(shown(client)).toEqual({ 2: {}, 3: {} })
    expect([...new Set(steps.map((step) => JSON.stringify(step)))]).toEqual(['[2,"1","2"]', '[4,"2","3"]'])
    expect(device.log).toEqual(['reset gone since 2'])
  })

  test('is shown in one step: a query is never empty in between', async () => {
    const device = new Device({ chunkBytes: 50 })
    for (let id = 0; id < 50; id += 1) device.insert(`${id}`)
    const client = await device.live()
    const query = client.query('Issue')
    const lengths: number[] = []
    query.subscribe(({ rows }) => lengths.push(rows.length))
    device.network.chunkMs = 10
    device.remove('0')
    device.server.failNext(faults.gone(), { path: '/delta' })
    await device.clock.advance(20_000)
    expect(device.log).toEqual(['reset gone since 51'])
    expect(new Set([...lengths, query.rows.length])).toEqual(new Set([49]))
  })
})

describe('another history', () => {
  test('invariant 11: a delta below its since causes one bootstrap, and is reported', async () => {
    const device = new Device({ deltaSid: 'head' })
    device.insert('1')
    const backup = device.server.data.backup()
    device.insert('2')
    device.insert('3')
    const client = await device.live()
    device.server.data.restore(backup)
    device.server.sockets.end()
    await device.clock.advance(5_000)
    expect(shown(client)).toEqual({ 1: {} })
    expect(client.lastSyncId).toBe(1)
    expect(device.log).toEqual(['reset restored since 3'])
    expect(device.bootstraps).toBe(2)
  })

  test('invariant 66: a 410 right after a bootstrap does not loop, and is reported as an error', async () => {
    const device = new Device()
    device.insert('1')
    const client = device.client()
    device.server.failNext(faults.gone(), { path: '/delta', times: 1_000 })
    await client.start()
    await device.clock.advance(600_000)
    expect(device.requests.length).toBeLessThan(200)
    expect(device.log).toContain('error HttpError http_status')
    expect(shown(client)).toEqual({ 1: {} })
    device.server.heal()
    await device.clock.advance(60_000)
    expect(client.status).toMatchObject({ connection: { state: 'socket' }, data: { state: 'current' } })
  })
})

describe('repair', () => {
  test('a change to a missing record causes one bootstrap, at most one per hour', async () => {
    const { device, client } = await inStep({ 1: {} })
    device.update('9', { n: 1 })
    await device.clock.advance(2_000)
    expect(device.log).toEqual([
      'anomaly unknown_record: The server updated an unknown record: Issue 9.',
      'reset repair since 2',
    ])
    expect(device.bootstraps).toBe(2)
    device.update('8', { n: 1 })
    device.insert('2')
    await device.clock.advance(2_000)
    expect(device.bootstraps).toBe(2)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    await device.clock.advance(3_600_000)
    device.update('7', { n: 1 })
    await device.clock.advance(2_000)
    expect(device.bootstraps).toBe(3)
  })

  test('invariant 65: an unreadable frame is repaired once, then skipped, and syncing continues', async () => {
    const { device, client } = await inStep({ 1: {} })
    const broken = { sid: 2, t: 'Issue', id: 'x', op: 'explode', p: {} }
    const poison = faults.answer(200, JSON.stringify({ sid: 3, frames: [broken] }))
    device.server.failNext(poison, { path: '/delta', times: 2 })
    device.insert('2')
    device.insert('3')
    await device.clock.advance(5_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
    device.insert('4')
    await device.clock.advance(5_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {}, 4: {} })
    expect(device.log.filter((line) => line.startsWith('reset'))).toEqual(['reset repair since 3'])
  })
})
