import { expect, test } from 'vitest'
import { failure } from '../support/office.ts'
import { add, noNotes } from '../support/sending.ts'

test('a server that takes writes, but fails to give the data, is not asked for it with each write', async () => {
  const { office, desk, client } = await noNotes()
  await office.clock.until(add(client, 'first').synced)
  let asked = 0
  office.intercept = (request, pass) => {
    if (request.url.includes('/tx')) return pass()
    asked += 1
    return Promise.resolve(failure(500))
  }
  desk.network.cut()
  await office.clock.advance(1_000)
  desk.network.mend()
  for (let n = 0; n < 300; n += 1) {
    add(client, `${n}`)
    await office.clock.advance(1_000)
  }
  expect(asked).toBeLessThan(60)
  office.intercept = (_, pass) => pass()
  await office.clock.advance(120_000)
  expect(client.status.writes.pending).toBe(0)
})
