import type { SyncClient } from 'instep'
import { describe, expect, test } from 'vitest'
import { isObject } from '../../src/protocol/json.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { browser } from './browser.ts'

const hourMs = 3_600_000

const write = (client: SyncClient, n: number) => client.mutate((m) => m.put('Item', { id: 'i0', n }))

describe.each([true, false])('tabs, with a channel: %s,', (hasChannel) => {
  test('invariant 27, invariant 68: send what became durable first before what a tab wrote that had read nothing, whatever its clock says', async () => {
    const { server, device, open, idle, kept } = await hourBack(hasChannel)
    const first = await open()
    device.disconnect()
    await server.settle()
    await server.clock.until(write(first.client, 1).durable)
    kept.jump(-hourMs)
    const second = idle()
    await server.clock.until(write(second, 2).durable)
    await second.start()
    device.reconnect()
    await server.settle()
    expect(await kept.shown()).toBe(2)
    expect(second.get('Item', 'i0')?.n).toBe(2)
    await server.close()
  })

  test('invariant 68: keep the order over a restart, although the clock is set back between them', async () => {
    const { server, device, open, close, kept } = await hourBack(hasChannel)
    const [first, second] = [await open(), await open()]
    device.disconnect()
    await server.settle()
    for (const [n, { client }] of [first, second, first, second].entries()) {
      await server.clock.until(write(client, n).durable)
      kept.jump(-hourMs)
      await server.settle()
    }
    await close(first)
    await close(second)
    device.reconnect()
    const third = await open()
    await server.settle()
    expect(await kept.shown()).toBe(3)
    expect(third.client.get('Item', 'i0')?.n).toBe(3)
    await server.close()
  })
})

async function hourBack(hasChannel: boolean) {
  const scene = await browser({ hasChannel })
  const clock = new JumpingClock(scene.server.clock)
  const options = { environment: { clock } }
  return {
    ...scene,
    open: () => scene.open(options),
    idle: () => scene.idle(options),
    kept: {
      jump: (ms: number) => clock.jump(ms),
      shown: async () => (await scene.server.rows('ada')).find(({ id }) => id === 'i0')?.p.n,
    },
  }
}

test('invariant 70: a leader sends what a follower has stored before its own write, although it has not heard of it', async () => {
  let isLosing = false
  const { server, open } = await browser({
    carry: (deliver, message) => {
      if (!isLosing || !isObject(message) || message.type !== 'outbox') void Promise.resolve().then(deliver)
    },
  })
  const [follower, leader] = [await open(), await open()]
  isLosing = true
  await server.clock.until(write(follower.client, 1).durable)
  await server.clock.until(write(leader.client, 2).synced)
  await server.settle()
  expect((await server.rows('ada'))[0]?.p.n).toBe(2)
  await server.close()
})
