import { expect, test } from 'vitest'
import { shown } from '../support/device.ts'
import { setScene } from './scene.ts'

const scene = setScene()

test('a write of a client reaches the server and every other device', async () => {
  const { server, live } = scene()
  const client = await live()
  const other = server.device().client({ identity: 'ada' })
  await other.start()
  const tx = client.mutate((m) => {
    m.insert('Issue', { id: '1', title: 'one' })
  })
  await server.settle()
  expect(tx.state).toBe('synced')
  expect(await server.rows('ada')).toMatchObject([
    { t: 'Issue', id: '1', p: { title: 'one', userId: 'ada' } },
  ])
  expect(shown(other)).toEqual({ 1: { title: 'one' } })
})

test('two devices that write at the same moment create separate records and transactions', async () => {
  const { server, live } = scene()
  const client = await live()
  const other = server.device().client({ identity: 'ada' })
  await other.start()
  await server.settle()
  const txs = [client, other].map((each) => each.mutate((m) => m.insert('Issue', { title: 'one' })))
  await server.settle()
  expect(txs.map(({ state }) => state)).toEqual(['synced', 'synced'])
  expect(await server.rows('ada')).toHaveLength(2)
})

test('reject undoes a change, and the next one is accepted', async () => {
  const { server, live } = scene()
  const client = await live()
  server.reject('forbidden', { message: 'Not yours.' })
  const tx = client.mutate((m) => {
    m.insert('Issue', { id: '1', title: 'one' })
  })
  expect(client.count('Issue')).toBe(1)
  await server.settle()
  expect(tx.rejection).toMatchObject({ reason: 'forbidden', message: 'Not yours.' })
  expect(client.count('Issue')).toBe(0)
  client.mutate((m) => {
    m.insert('Issue', { id: '2', title: 'two' })
  })
  await server.settle()
  expect(shown(client)).toEqual({ 2: { title: 'two' } })
})

test('a write with a lost response is sent again, and applied once', async () => {
  const { server, live } = scene()
  const client = await live()
  server.loseResponse({ endpoint: 'tx' })
  // Else the push would tell that it was accepted.
  server.hold()
  const tx = client.mutate((m) => {
    m.insert('Issue', { id: '1', title: 'one' })
  })
  await server.settle()
  expect(tx.state).toBe('synced')
  expect(server.requests.filter(({ endpoint }) => endpoint === 'tx')).toHaveLength(2)
  expect(await server.rows('ada')).toHaveLength(1)
})

test('an offline write is sent once the network is back', async () => {
  const { server, live } = scene()
  const client = await live()
  server.down()
  await server.settle()
  const tx = client.mutate((m) => {
    m.insert('Issue', { id: '1', title: 'one' })
  })
  await server.settle()
  expect([tx.state, client.status.writes.pending]).toEqual(['queued', 1])
  server.up()
  await server.settle()
  expect([tx.state, client.status.writes.pending]).toEqual(['synced', 0])
})

test('the server takes an op with `was`, and says so', async () => {
  const { server } = scene()
  await server.write([{ op: 'i', t: 'Issue', id: '1', p: { a: 1, b: 2 } }], 'ada')
  const headers = { Authorization: `Bearer ${server.token('ada')}`, 'Content-Type': 'application/json' }
  const op = { op: 'u', t: 'Issue', id: '1', p: { a: 0, b: 0 }, was: { a: 1, b: 1 } }
  const body = JSON.stringify({ txs: [{ id: 'a', since: 0, ops: [op] }] })
  const response = await server.clock.until(
    server.environment.fetch(`${server.baseUrl}/tx`, { method: 'POST', headers, body }),
  )
  expect(await response.json()).toMatchObject({ features: ['was', 'restores', 'tx'] })
  expect(await server.rows('ada')).toMatchObject([{ p: { a: 0, b: 2 } }])
})
