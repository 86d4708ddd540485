import { describe, expect, test } from 'vitest'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'
import { JumpingClock } from '../support/jumping-clock.ts'

const aDay = 86_400_000

/** A live client whose clock can be set. */
async function setUp(options: ConstructorParameters<typeof Device>[0] = {}) {
  const device = new Device(options)
  const clock = new JumpingClock(device.clock)
  device.insert('1')
  const client = await device.live({ environment: { ...device.environment, clock } })
  return { device, clock, client }
}

describe.each([
  ['forward', aDay],
  ['back', -aDay],
])('a clock that is set %s by a day', (_, ms) => {
  test('does not block requests at a position of many earlier requests', async () => {
    const { device, clock, client } = await setUp({ push: 'none' })
    device.network.latencyMs = 0
    for (let time = 0; time < 6; time += 1) {
      device.toFront()
      await device.clock.advance(0)
    }
    clock.jump(ms)
    await device.clock.advance(35_000)
    expect(client.status.connection.state).toBe('socket')
    device.insert('2')
    await device.clock.advance(31_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })

  test('does not delay a hint', async () => {
    const { device, clock, client } = await setUp({ push: 'hint' })
    clock.jump(ms)
    device.insert('2')
    await device.clock.advance(2_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })

  test('lets a push be confirmed and stored', async () => {
    const { device, clock } = await setUp()
    clock.jump(ms)
    device.insert('2')
    await device.clock.advance(2_000)
    const again = await device.offline()
    expect(again.lastSyncId).toBe(2)
  })

  test('does not delay a bootstrap', async () => {
    const { device, clock } = await setUp({ push: 'none' })
    const resets = () => device.log.filter((line) => line === 'reset gone since 1').length
    device.server.failNext(faults.gone(), { path: 'delta', times: 1_000 })
    await device.clock.advance(40_000)
    expect(resets()).toBe(1)
    clock.jump(ms)
    await device.clock.advance(120_000)
    expect(resets()).toBeGreaterThan(1)
  })

  test('does not delay a repair', async () => {
    const { device, clock } = await setUp()
    const repairs = () => device.log.filter((line) => line.startsWith('reset repair')).length
    device.update('9', { n: 1 })
    await device.clock.advance(2_000)
    expect(repairs()).toBe(1)
    clock.jump(ms)
    await device.clock.advance(3_600_000)
    device.update('8', { n: 1 })
    await device.clock.advance(2_000)
    expect(repairs()).toBe(2)
  })
})
