import { expect, test } from 'vitest'
import { add, at, inStep } from '../support/test-backend.ts'

/** As a browser fails where the service lets other origins read, and not write. */
const blocked = at('tx', () => Promise.reject(new TypeError('Failed to fetch')))

test('transactions that cannot be sent while data arrives are reported in the status', async () => {
  const { backend, client } = await inStep()
  backend.intercept = blocked
  const tx = add(client, '1')
  await backend.clock.advance(60_000)
  expect(client.status.connection).toEqual({ state: 'socket' })
  expect(client.status.writes).toEqual({
    pending: 1,
    rejected: 0,
    paused: expect.stringContaining('/tx cannot be reached'),
  })
  backend.intercept = (_request, pass) => pass()
  await backend.clock.until(tx.synced)
  await backend.clock.advance(1_000)
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
})

test('a single lost response is not reported', async () => {
  const { backend, device, client } = await inStep()
  const told = new Set<unknown>()
  client.on('status', ({ writes }) => told.add(writes.paused))
  backend.server.loseResponse({ endpoint: 'tx' })
  await backend.clock.until(add(client, '1').synced)
  expect([...told]).toEqual([undefined])
  expect(device.log).toEqual([])
})

test('offline, the connection state says it', async () => {
  const { backend, device, client } = await inStep()
  device.network.cut()
  add(client, '1')
  await backend.clock.advance(120_000)
  expect(client.status.connection.state).toBe('offline')
  expect(client.status.writes).toEqual({ pending: 1, rejected: 0 })
})

test('once the server is reachable, reading and writing do not wait for each other', async () => {
  const { backend, device, client } = await inStep()
  for (const id of ['1', '2', '3', '4', '5', '6', '7', '8']) {
    device.network.cut()
    const tx = add(client, id)
    await backend.clock.advance(180_000)
    device.network.mend()
    while (client.status.data.state === 'stale' && tx.state !== 'accepted') await backend.clock.advance(100)
    await backend.clock.advance(2_000)
    expect([tx.state, client.status.data.state]).toEqual(['synced', 'current'])
  }
})
