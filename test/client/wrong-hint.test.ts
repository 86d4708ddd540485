import { mockSyncServer } from 'instep/testing'
import { expect, test } from 'vitest'

async function started() {
  const server = mockSyncServer()
  await server.write([{ op: 'i', t: 'Note', id: 'n1', p: {} }], 'ada')
  const device = server.device()
  const client = device.client({ identity: 'ada' })
  return { server, device, client, lifecycle: device.environment.lifecycle }
}

test('what the server has just sent beats `navigator.onLine`, which is wrongly `false`', async () => {
  const { server, client, lifecycle } = await started()
  lifecycle.set({ online: false })
  await client.start()
  await server.settle()
  expect(client.count('Note')).toBe(1)
  expect(client.status.connection.state).toBe('socket')
  expect(client.status.data.state).toBe('current')
  await server.close()
})

test('a wrong `offline` event counts until the server sends something', async () => {
  const { server, client, lifecycle } = await started()
  await client.start()
  await server.settle()
  lifecycle.set({ online: false })
  expect(client.status.connection.state).toBe('offline')
  await server.write([{ op: 'i', t: 'Note', id: 'n2', p: {} }], 'ada')
  await server.clock.advance(1_000)
  expect(client.status.connection.state).toBe('socket')
  await server.close()
})

test('without a network, the status stays `offline`', async () => {
  const { server, device, client } = await started()
  await client.start()
  await server.settle()
  device.disconnect()
  await server.clock.advance(60_000)
  expect(client.status.connection.state).toBe('offline')
  await server.close()
})
