import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device, inStep, shown } from '../support/device.ts'
import { mislead } from '../support/misled.ts'
import { watching } from '../support/watching-store.ts'

const hour = 3_600_000

/** A device on which a repair was made for the record `2`, and is owed for the record `3`. */
async function owing(device = new Device({ push: 'none' }), op?: string) {
  device.insert('1')
  const client = await device.live()
  for (const id of ['2', '3']) await mislead(device, client, id, op)
  expect(shown(client)).toEqual({ 1: {}, 2: {} })
  return { device, client }
}

test.each([
  ['an update of a record that is not here', 'u'],
  ['a frame that cannot be read', 'explode'],
])('invariant 65: a due repair of %s is made after a restart, when the hour is over', async (_, op) => {
  const { device } = await owing(undefined, op)
  const before = device.bootstraps
  let client = await device.live()
  for (const quarter of [1, 2, 3]) {
    await device.clock.advance(hour / 6)
    client = await device.restart()
    expect([quarter, shown(client)]).toEqual([quarter, { 1: {}, 2: {} }])
  }
  await device.clock.advance(hour / 2 + 120_000)
  expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
  await device.restart()
  await device.clock.advance(2 * hour)
  expect(device.bootstraps).toBe(before + 1)
})

test('restarts do not make repairs more frequent', async () => {
  const { device } = await inStep({ 1: {} }, {}, { push: 'none' })
  const before = device.bootstraps
  for (let n = 0; n < 6; n += 1) {
    await device.quit()
    await mislead(device, await device.live(), `x${n}`)
  }
  expect(device.bootstraps - before).toBe(1)
})

test('a failing repair blocks nothing, and is tried less and less often', async () => {
  const { device } = await owing()
  await device.quit()
  await device.clock.advance(hour)
  device.server.failNext(faults.answer(503, ''), { path: 'bootstrap', times: 50 })
  device.insert('4')
  const client = await device.live()
  const before = device.bootstraps
  expect(shown(client)).toEqual({ 1: {}, 2: {}, 4: {} })
  expect(client.status.data.state).toBe('current')
  await device.clock.advance(5 * hour)
  // After 1, 4, 16 and 60 minutes.
  expect([device.bootstraps - before, client.status.data.state]).toEqual([7, 'current'])
  await device.quit()
  device.network.cut()
  expect(shown(await device.live())).toEqual({ 1: {}, 2: {}, 4: {} })
})

test.each([
  ['asks for an hour without requests', faults.answer(503, '', { 'Retry-After': '3600' })],
  ['answers with what is no snapshot', faults.answer(200, '<html>')],
])(
  'a repair that fails because the server %s rejects no call, and is tried once by each client',
  async (_, fault) => {
    const { device } = await owing()
    await device.quit()
    await device.clock.advance(hour)
    device.server.failNext(fault, { path: 'bootstrap', times: 50 })
    const before = device.bootstraps
    for (const id of ['4', '5', '6']) {
      device.insert(id)
      const client = device.client()
      await expect(device.clock.until(client.sync())).resolves.toMatchObject({ kind: 'delta' })
      expect(client.count('Issue')).toBe(Number(id) - 1)
      await device.quit()
      await device.clock.advance(60_000)
    }
    expect(device.bootstraps - before).toBe(3)
  },
)

test('a repair that `stop` ends is made at the next start', async () => {
  const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
  device.network.latencyMs = 200
  const sid = device.insert('2')
  const body = JSON.stringify({ sid, frames: [{ sid, t: 'Issue', id: '2', op: 'u', p: {} }] })
  device.server.failNext(faults.answer(200, body), { path: 'delta' })
  const before = device.bootstraps
  const synced = client.sync().catch(() => {})
  while (device.bootstraps === before) await device.clock.advance(10)
  await device.clock.until(Promise.all([client.stop(), synced]))
  expect(shown(client)).toEqual({ 1: {} })
  await client.start()
  await device.clock.advance(5_000)
  expect(shown(client)).toEqual({ 1: {}, 2: {} })
})

test('a due repair is made when the hour is over, even if a socket replaces polling', async () => {
  const { device, client } = await owing()
  const { lastSyncId: sid } = client
  const send = (message: object) => device.push(message)
  send({ hello: { sid, heartbeatMs: 25_000 } })
  for (let ms = 0; ms < hour + 60_000; ms += 25_000) {
    send({ since: sid, sid, frames: [] })
    await device.clock.advance(25_000)
  }
  expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
})

test('a snapshot for another reason serves as a due repair, but does not delay the next one', async () => {
  const { device, client } = await owing()
  device.server.failNext(faults.gone(), { path: 'delta' })
  await device.clock.until(client.sync())
  expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
  const before = device.bootstraps
  const again = await device.restart()
  await mislead(device, again, '4')
  expect([device.bootstraps - before, shown(again)]).toEqual([0, { 1: {}, 2: {}, 3: {} }])
  await device.clock.advance(hour + 120_000)
  expect([device.bootstraps - before, shown(again)]).toEqual([1, { 1: {}, 2: {}, 3: {}, 4: {} }])
})

test('a failed repair waits as long as the server says, and is reported', async () => {
  const { device } = await owing()
  await device.quit()
  await device.clock.advance(hour)
  device.log.length = 0
  device.server.failNext(faults.answer(503, '', { 'Retry-After': '3600' }), { path: 'bootstrap' })
  device.server.failNext(faults.answer(200, '<html>'), { path: 'bootstrap' })
  const before = device.bootstraps
  await device.live()
  await device.clock.advance(hour - 60_000)
  expect(device.bootstraps - before).toBe(1)
  const errors = () => device.log.filter((line) => line.startsWith('error'))
  expect(errors()).toEqual(['error HttpError http_status'])
  await device.clock.advance(180_000)
  expect(device.bootstraps - before).toBe(2)
  expect(errors()).toEqual(['error HttpError http_status', 'error ProtocolError not_json'])
})

test('refused credentials of a repair pause syncing as for any request', async () => {
  const { device } = await owing()
  await device.quit()
  await device.clock.advance(hour)
  device.server.failNext(faults.answer(401, ''), { path: 'bootstrap' })
  const client = await device.live()
  expect(client.status.connection.state).toBe('unauthenticated')
})

test('while a repair is due, a fetch stores only its own changes', async () => {
  let writes = 0
  const store = watching(memoryStore(), ({ mode }) => {
    if (mode === 'write') writes += 1
  })
  const { device, client } = await owing(new Device({ store, push: 'none' }))
  writes = 0
  for (let n = 0; n < 5; n += 1) await device.clock.until(client.sync())
  expect(writes).toBe(0)
})
