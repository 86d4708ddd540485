import { expect, test } from 'vitest'
import { type Device, inStep, shown } from '../support/device.ts'

const minute = 60_000

/** What a server pushes whose numbers do not fit its deltas. */
const misfits: readonly (readonly [string, string])[] = [
  ['a position', '{"sid":99}'],
  ['a delta without frames', '{"since":99,"sid":99,"frames":[]}'],
  ['a delta', '{"since":98,"sid":99,"frames":[{"op":"i","t":"Item","id":"9","p":{},"sid":99}]}'],
]

async function pushEverySecond(device: Device, push: string, ms: number) {
  const asked = device.requests.length
  for (let time = 0; time < ms; time += 1_000) {
    device.push(push)
    await device.clock.advance(1_000)
  }
  return device.requests.length - asked
}

test.each(misfits)(
  'a server that keeps pushing %s above what its deltas reach is reported once, and asked as often as it is polled',
  async (_, push) => {
    const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
    await pushEverySecond(device, push, minute)
    expect(device.log).toEqual(['error ProtocolError discontinuous'])
    expect(await pushEverySecond(device, push, 10 * minute)).toBeLessThanOrEqual(20)
    expect(device.log).toHaveLength(1)
    expect(client.status.connection.state).toBe('socket')
  },
)

test('a change that comes late is fetched though a server pushes positions that its deltas do not reach', async () => {
  const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
  await pushEverySecond(device, '{"sid":99}', minute)
  device.insert('2')
  await pushEverySecond(device, '{"sid":99}', 30_000)
  expect(shown(client)).toEqual({ 1: {}, 2: {} })
  device.insert('3')
  await pushEverySecond(device, '{"sid":99}', 4_000)
  expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
})

test('a delta that lags a push for some seconds is no fault', async () => {
  const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
  device.push('{"sid":2}')
  await device.clock.advance(10_000)
  device.insert('2')
  await device.clock.advance(10_000)
  expect(shown(client)).toEqual({ 1: {}, 2: {} })
  expect(device.log).toEqual([])
})
