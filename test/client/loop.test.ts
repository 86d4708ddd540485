import { expect, test } from 'vitest'
import { inStep, shown } from '../support/device.ts'

test('invariant 52: a client in a request loop stops, reports an error, and continues later', async () => {
  const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
  device.network.latencyMs = 0
  const asked = device.requests.length
  for (let time = 0; time < 40; time += 1) {
    device.toFront()
    await device.clock.advance(10)
  }
  expect(device.requests.length - asked).toBeLessThanOrEqual(5)
  expect(new Set(device.log)).toEqual(new Set(['error ProtocolError loop']))
  device.insert('2')
  await device.clock.advance(40_000)
  expect(shown(client)).toEqual({ 1: {}, 2: {} })
  expect(client.status.connection.state).toBe('socket')
})
