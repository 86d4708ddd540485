import { expect, test } from 'vitest'
import { mockSyncServer } from '../../src/testing/index.ts'
import { issue } from './scene.ts'

test('a server that is closed in the middle of work leaves nothing', async () => {
  const server = mockSyncServer()
  const devices = [server.device(), server.device()]
  const clients = devices.map((device) => device.client({ identity: 'ada' }))
  await Promise.all(clients.map((client) => client.start()))
  await server.settle()
  server.hold()
  await server.write([issue('1')], 'ada')
  server.late(60_000, { times: 2 })
  server.never()
  const syncs = clients.map((client) => client.sync().catch(({ name }: Error) => name))
  await server.clock.advance(10)
  await server.close()
  expect(await Promise.all(syncs)).toEqual(['NetworkError', 'NetworkError'])
  for (const { network, environment } of devices) {
    expect([network.calls, network.sockets, environment.lifecycle.listeners]).toEqual([0, 0, 0])
  }
  expect(server.clock.timers).toBe(0)
  expect(clients.map(({ status }) => status.lifecycle)).toEqual(['closed', 'closed'])
})

test('a server can be closed twice, and before any request', async () => {
  const server = mockSyncServer()
  await server.close()
  await server.close()
  expect(server.requests).toEqual([])
})

test('a closed server refuses clients and writes', async () => {
  const server = mockSyncServer()
  const phone = server.device()
  await server.close()
  const closed = expect.objectContaining({
    name: 'ClosedError',
    message: expect.stringContaining('mock server'),
  })
  expect(() => server.client({ identity: 'ada' })).toThrow(closed)
  expect(() => phone.client({ identity: 'ada' })).toThrow(closed)
  expect(() => server.device()).toThrow(closed)
  await expect(server.write([issue('1')], 'ada')).rejects.toEqual(closed)
  await expect(server.restore([])).rejects.toEqual(closed)
})
