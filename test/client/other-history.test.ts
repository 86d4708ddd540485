import { describe, expect, test } from 'vitest'
import { type BareFault, faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'

const issue = (id: string) => ({ t: 'Issue', id, p: {} })

/** A device of an Ada whose server names its histories; `answer` puts bodies in place of the next answers. */
function setUp() {
  const device = new Device({ push: 'none' })
  const answer = (path: string, ...bodies: object[]) => {
    for (const body of bodies) device.server.failNext(faults.answer(200, JSON.stringify(body)), { path })
  }
  answer('bootstrap', { sid: 2, epoch: 'A', rows: [issue('A1')] })
  answer('delta', { sid: 2, epoch: 'A', frames: [] }, { sid: 2, epoch: 'A', frames: [] })
  const push = (sid: number, id: string) =>
    device.push({ since: 2, sid, frames: [{ sid, op: 'i', ...issue(id) }] })
  return { device, answer, push }
}

describe('after a change of history', () => {
  test('invariant 62: the old socket is replaced, and its pushes are ignored', async () => {
    const { device, answer, push } = setUp()
    const client = await device.live()
    device.server.heal()
    answer('delta', { sid: 5, epoch: 'B', frames: [] })
    answer('bootstrap', { sid: 5, epoch: 'B', rows: [issue('B1')] })
    await device.clock.until(client.sync())
    push(7, 'A2')
    await device.clock.advance(1_000)
    expect(shown(client)).toEqual({ B1: {} })
    expect(client.lastSyncId).toBe(5)
  })

  test('pushes of the old socket during the new snapshot are ignored', async () => {
    const { device, answer, push } = setUp()
    const client = await device.live()
    device.server.heal()
    answer('delta', { sid: 5, epoch: 'B', frames: [] })
    const pushMeanwhile: BareFault = (...request) => {
      push(7, 'A2')
      return faults.answer(200, JSON.stringify({ sid: 5, epoch: 'B', rows: [issue('B1')] }))(...request)
    }
    device.server.failNext(pushMeanwhile, { path: 'bootstrap' })
    await device.clock.until(client.sync())
    expect([shown(client), client.lastSyncId]).toEqual([{ B1: {} }, 5])
    await device.clock.advance(1_000)
    expect([shown(client), client.lastSyncId]).toEqual([{ B1: {} }, 5])
  })

  test('invariant 2: pushes that were held before a stop are not applied to the new history', async () => {
    const { device, answer, push } = setUp()
    const { server, clock } = device
    const client = await device.live()
    server.failNext(faults.silent(), { times: 2, path: 'delta' })
    server.sockets.end()
    while (server.sockets.count() === 0) await clock.advance(10)
    await clock.advance(25)
    push(10, 'ghost')
    await clock.advance(100)
    await clock.until(client.stop())
    server.heal()
    server.failNext(faults.silent(), { times: 9, path: 'ws' })
    answer('delta', { sid: 5, epoch: 'B', frames: [] }, { sid: 5, epoch: 'B', frames: [] })
    answer('bootstrap', { sid: 5, epoch: 'B', rows: [issue('B1')] })
    await client.start()
    await clock.advance(1_000)
    expect([shown(client), client.lastSyncId]).toEqual([{ B1: {} }, 5])
    const again = await device.offline()
    expect(again.lastSyncId).toBe(5)
  })

  test('a client with empty snapshots accepts the new one at once', async () => {
    const device = new Device({ push: 'none' })
    const next = (path: string, body: object) =>
      device.server.failNext(faults.answer(200, JSON.stringify(body)), { path })
    const empty = { sid: 0, epoch: 'A', rows: [] }
    next('bootstrap', empty)
    next('bootstrap', empty)
    const client = await device.live()
    device.server.heal()
    const frames = [{ sid: 1, op: 'i', ...issue('A1') }]
    device.push({ since: 0, sid: 1, frames })
    await device.clock.advance(100)
    expect(shown(client)).toEqual({ A1: {} })
    next('delta', { sid: 5, epoch: 'B', frames: [] })
    next('bootstrap', { sid: 5, epoch: 'B', rows: [issue('B1')] })
    await device.clock.until(client.sync())
    expect(shown(client)).toEqual({ B1: {} })
  })

  test('the new one is fetched at once if it began after the last snapshot', async () => {
    const { device, answer } = setUp()
    device.server.heal()
    const issues = (name: string) => ({ sid: 2, epoch: name, rows: [issue(`${name}1`)] })
    answer('bootstrap', issues('A'), issues('B'))
    for (let time = 0; time < 9; time += 1) answer('delta', { sid: 2, epoch: 'B', frames: [] })
    const client = device.client()
    await client.start()
    await device.clock.advance(2_000)
    expect([shown(client), client.status.data.state]).toEqual([{ B1: {} }, 'current'])
    expect(device.log).toEqual(['reset epoch since 2'])
  })

  test('an epoch from an empty delta is known after a restart', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const environment = { ...device.environment, WebSocket: undefined }
    const client = await device.live({ environment: environment })
    const next = (epoch: string) => device.answer('delta', { sid: 1, epoch, frames: [] })
    next('one')
    await device.clock.until(client.sync())
    await device.quit()
    next('two')
    await device.live({ environment: environment })
    expect(device.log).toEqual(['reset epoch since 1'])
  })
})
