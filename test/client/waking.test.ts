import { describe, expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { newDevice, notes } from '../support/test-backend.ts'
import type { ClientOptions } from '../support/test-device.ts'

const aNight = 8 * 3_600_000

/** The service sends a heartbeat every 15 s. */
const heartbeatMs = 15_000

/** A client that is in step, on a machine that can sleep. */
async function awake(options: ClientOptions = {}) {
  const { backend, device } = newDevice()
  await backend.insert('1')
  const clock = new JumpingClock(device.clock)
  const client = await device.live({ ...options, environment: { ...device.environment, clock } })
  /** For a night, nothing runs here, and the network forgets the socket. Meanwhile, somebody writes. */
  const sleep = async () => {
    device.network.blackHole()
    clock.jump(aNight)
    await backend.insert('2')
    device.network.mend()
  }
  return { backend, device, clock, client, sleep }
}

const isInStep = (client: SyncClient) => Object.keys(notes(client)).join() === '1,2'

describe('a machine that wakes', () => {
  test('is in step within a second if the page is shown', async () => {
    const { device, client, sleep } = await awake()
    await sleep()
    device.toFront()
    await device.clock.advance(1_000)
    expect(isInStep(client)).toBe(true)
    expect(client.status.connection.state).toBe('socket')
  })

  test('is in step within 5 s if it says that the network is back', async () => {
    const { device, client, sleep } = await awake()
    await sleep()
    for (const online of [false, true]) device.environment.lifecycle.set({ online })
    await device.clock.advance(5_000)
    expect(isInStep(client)).toBe(true)
    expect(client.status.connection.state).toBe('socket')
  })

  test('is in step within two heartbeats if nothing says that it was asleep', async () => {
    const { device, client, sleep } = await awake()
    await sleep()
    await device.clock.advance(2 * heartbeatMs + 5_000)
    expect(isInStep(client)).toBe(true)
    expect(client.status.connection.state).toBe('socket')
  })

  test('whose request was on its way when it fell asleep makes it again within 31 s', async () => {
    const { device, client, sleep } = await awake({ pollInterval: 600_000 })
    void client.sync().catch(() => {})
    await device.clock.advance(5)
    await sleep()
    device.toFront()
    await device.clock.advance(31_000)
    expect(isInStep(client)).toBe(true)
  })

  test('whose token has expired meanwhile gets a new one, and sends offline writes once', async () => {
    let redeemed = 0
    const { backend, device, client, sleep } = await awake({
      onUnauthenticated: () => {
        redeemed += 1
        return backend.server.token('ada')
      },
    })
    device.network.cut()
    client.mutate((m) => m.insert('Note', { id: '3' }))
    await device.clock.advance(600_000)
    await sleep()
    backend.server.expire('ada')
    device.toFront()
    await device.clock.advance(5_000)
    expect(redeemed).toBe(1)
    expect(Object.keys(notes(client))).toEqual(['1', '2', '3'])
    expect(client.status.writes.pending).toBe(0)
    expect(await backend.server.rows('ada')).toHaveLength(3)
  })

  test.each([
    ['ahead', aNight],
    ['back', -2 * aNight],
  ])('whose clock is set %s meanwhile is in step when the page is shown', async (_, ms) => {
    const { device, clock, client, sleep } = await awake()
    await sleep()
    clock.jump(ms)
    device.toFront()
    for (const online of [false, true]) device.environment.lifecycle.set({ online })
    await device.clock.advance(5_000)
    expect(isInStep(client)).toBe(true)
    expect(client.status.connection.state).toBe('socket')
  })
})

describe('a change of network', () => {
  test('that is noticed opens another socket, and nothing is missed', async () => {
    const { backend, device, client } = await awake()
    device.network.blackHole()
    device.environment.lifecycle.set({ online: false })
    await backend.insert('2')
    device.network.mend()
    device.environment.lifecycle.set({ online: true })
    await device.clock.advance(5_000)
    expect(isInStep(client)).toBe(true)
  })

  test('that is not noticed is found out within two heartbeats', async () => {
    const { backend, device, client } = await awake()
    device.network.blackHole()
    await backend.insert('2')
    device.network.mend()
    await device.clock.advance(2 * heartbeatMs + 5_000)
    expect(isInStep(client)).toBe(true)
    expect(client.status.connection.state).toBe('socket')
  })
})
