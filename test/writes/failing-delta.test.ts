import { expect, test } from 'vitest'
import { add, failure, inStep } from '../support/test-backend.ts'

test('a server that accepts writes but fails to send data is not asked for data after each write', async () => {
  const { backend, device, client } = await inStep()
  await backend.clock.until(add(client, 'first').synced)
  let asked = 0
  backend.intercept = (request, pass) => {
    if (request.url.includes('/tx')) return pass()
    asked += 1
    return Promise.resolve(failure(500))
  }
  device.network.cut()
  await backend.clock.advance(1_000)
  device.network.mend()
  for (let n = 0; n < 300; n += 1) {
    add(client, `${n}`)
    await backend.clock.advance(1_000)
  }
  expect(asked).toBeLessThan(60)
  backend.intercept = (_, pass) => pass()
  await backend.clock.advance(120_000)
  expect(client.status.writes.pending).toBe(0)
})
