import { expect, test } from 'vitest'
import { ownServer } from '../support/own-server.ts'

test('a push that no delta confirms is shown, and requested less and less often, up to the pace of polling', async () => {
  const server = ownServer()
  await server.write([{ op: 'i', t: 'Issue', id: '1', p: { n: 1 } }], 'ada')
  const client = server.client({ identity: 'ada' })
  await client.start()
  await server.settle()
  const before = server.requests.length
  server.push({ sid: 9, t: 'Issue', id: '1', op: 'u', p: { n: 9 } })
  await server.clock.advance(300_000)
  expect(client.get('Issue', '1')?.n).toBe(9)
  expect(server.requests.length - before).toBeLessThan(30)
  const then = server.requests.length
  await server.clock.advance(3_600_000)
  expect(server.requests.length - then).toBeGreaterThan(110)
})

test('a stopped client that syncs leaves no timer, even with an unconfirmed push', async () => {
  const server = ownServer()
  await server.write([{ op: 'i', t: 'Issue', id: '1', p: { n: 1 } }], 'ada')
  const client = server.client({ identity: 'ada' })
  await client.start()
  await server.settle()
  server.push({ sid: 9, t: 'Issue', id: '1', op: 'u', p: { n: 9 } })
  await server.clock.advance(1_000)
  await server.clock.until(client.stop())
  await server.clock.advance(1_000)
  const { timers } = server.clock
  await server.clock.until(client.sync())
  await server.clock.advance(10)
  expect([client.get('Issue', '1')?.n, server.clock.timers]).toEqual([9, timers])
})
