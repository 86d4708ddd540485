import { expect, test, vi } from 'vitest'
import * as z from 'zod/mini'
import { defineModels, model } from '../../src/index.ts'
import { type BareFault, faults } from '../support/bare-server-faults.ts'
import { Device } from '../support/device.ts'

const rows = 8_000

/** A device whose snapshots come in some 160 chunks, one every `chunkMs`. */
function slowDevice(chunkMs: number, types = ['Issue']) {
  const device = new Device()
  const text = 'x'.repeat(100)
  for (let n = 0; n < rows; n += 1) {
    const t = types[n % types.length] ?? ''
    device.server.write('ada', [{ op: 'i', t, id: `${n}`, p: { n, text } }])
  }
  device.server.behaviour.chunkBytes = 10_000
  device.network.chunkMs = chunkMs
  return device
}

/** How many issues `client` shows whenever it says that there may be others. */
function counted(client: ReturnType<Device['client']>) {
  const counts: number[] = []
  client.on('change', () => counts.push(client.count('Issue')))
  return counts
}

test('the loaded part of a slow first snapshot is shown early, twice as much each time', async () => {
  const device = slowDevice(50)
  const client = device.client()
  const counts = counted(client)
  const query = client.query('Issue', { where: { n: { lt: 500 } }, orderBy: 'n' })
  const listener = vi.fn()
  query.subscribe(listener)
  await client.start()
  await device.clock.advance(2_500)
  expect(query.status).toBe('pending')
  expect(query.rows).toHaveLength(500)
  expect(listener).toHaveBeenCalledTimes(1)
  expect(client.get('Issue', '0')).toMatchObject({ n: 0 })
  expect([client.status.data.state, client.lastSyncId]).toEqual(['loading', 0])
  const before = query.rows
  await device.clock.until(client.ready())
  expect(counts.slice(0, -1).every((count, n) => n === 0 || count >= 2 * (counts[n - 1] ?? 0))).toBe(true)
  expect(counts.length).toBeGreaterThan(2)
  expect(counts.at(-1)).toBe(rows)
  expect([query.status, query.rows]).toEqual(['ready', before])
  expect(query.rows).toBe(before)
})

test.each([20, 5_000])(
  'a first snapshot that loads within a second, %i ms after the request, is shown in one step',
  async (ms) => {
    const device = slowDevice(1)
    device.network.latencyMs = ms / 2
    const client = device.client()
    const counts = counted(client)
    await device.clock.until(client.sync())
    expect(counts).toEqual([rows])
  },
)

test('the shown part of a snapshot that breaks off stays until the next one has more', async () => {
  const device = slowDevice(50)
  const client = device.client()
  const counts = counted(client)
  const halved: BareFault = ({ body, ...rest }) => ({
    ...rest,
    body: body.slice(0, body.length / 2),
    ending: 'cut',
  })
  device.server.failNext(halved, { path: 'bootstrap' })
  await expect(device.clock.until(client.sync())).rejects.toThrow('broke off')
  const [shown] = counts.slice(-1)
  expect(shown).toBeGreaterThan(1_000)
  expect([client.count('Issue'), client.status.data.state]).toEqual([shown, 'none'])
  await device.clock.until(client.sync())
  expect(counts).toEqual([...counts].sort((a, b) => a - b))
  expect(counts.at(-1)).toBe(rows)
})

test('a later snapshot replaces the data only when it is complete', async () => {
  const device = slowDevice(0)
  const client = await device.live()
  const counts = counted(client)
  device.network.chunkMs = 100
  device.server.failNext(faults.gone(), { path: 'delta' })
  await device.clock.until(client.sync())
  expect(counts).toEqual([rows])
})

test('a lazy type is not shown while a snapshot loads', async () => {
  const device = slowDevice(50, ['Issue', 'Event'])
  const any = z.looseObject({})
  const client = device.client({ models: defineModels({ Issue: any, Event: model(any, { load: 'lazy' }) }) })
  await client.start()
  await device.clock.advance(4_000)
  expect(client.count('Issue')).toBeGreaterThan(0)
  expect(client.count('Event')).toBe(0)
  await device.clock.until(client.load('Event'))
  expect(client.count('Event')).toBe(rows / 2)
})

test('while a snapshot loads, the client is connecting, whatever failed before', async () => {
  const device = slowDevice(50)
  device.network.cut()
  const client = await device.live()
  expect(client.status.connection.state).toBe('offline')
  device.network.mend()
  const synced = client.sync()
  await device.clock.advance(2_000)
  expect(client.status).toMatchObject({ connection: { state: 'connecting' }, data: { state: 'loading' } })
  await device.clock.until(synced)
  await device.clock.advance(1_000)
  expect(client.status).toMatchObject({ connection: { state: 'socket' }, data: { state: 'current' } })
})
