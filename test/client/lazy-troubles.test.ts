import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { model } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'
import { models, restarted, schema, unreliable } from '../support/lazy-types.ts'
import { withSteps } from '../support/store-steps.ts'
import { watching } from '../support/watching-store.ts'

/** A device whose disk is unreliable, with lazy types on it, and a client that has begun again from there. */
async function onUnreliable() {
  const disk = unreliable()
  const scene = await restarted({}, new Device({ store: disk.store, push: 'none' }))
  disk.reads = 0
  return { ...scene, disk }
}

/** Pushes a change to a record that the client does not have. */
function mislead(device: Device, t: string): void {
  const sid = device.insert('p', {}, 'Project')
  const frame = { sid, op: 'u', t, id: 'nobody', p: {} }
  device.push({ since: sid - 1, sid, frames: [frame] })
}

describe('a disk that fails to read a lazy type', () => {
  test('at first is read once more', async () => {
    const { device, client, disk } = await onUnreliable()
    disk.failing = 1
    await device.clock.until(client.load('Issue'))
    const asked = device.requests.length
    await device.clock.advance(10_000)
    expect([shown(client), disk.reads, device.log]).toEqual([{ 1: { title: 'Milk' } }, 2, []])
    expect(device.requests.slice(asked)).toEqual([])
  })

  test('offline is read again with the next use', async () => {
    const { device, client, disk } = await onUnreliable()
    device.network.cut()
    disk.failing = 2
    client.count('Issue')
    await device.clock.advance(60_000)
    expect(disk.reads).toBe(2)
    await device.clock.until(client.load('Issue'))
    expect(shown(client)).toEqual({ 1: { title: 'Milk' } })
  })

  test('is read for another type that is first used meanwhile', async () => {
    const { device, client, disk } = await onUnreliable()
    device.network.cut()
    disk.failing = 2
    disk.read = async () => {
      if (disk.reads === 2) client.count('Note')
    }
    client.count('Issue')
    await device.clock.advance(1)
    expect(client.query('Note').status).toBe('ready')
  })

  test('causes a snapshot, even if one was fetched recently for another reason', async () => {
    const { device, client, disk } = await onUnreliable()
    mislead(device, 'Project')
    await device.clock.advance(5_000)
    expect(device.log.at(-1)).toBe('reset repair since 2')
    disk.failing = 2
    const query = client.query('Note')
    const told: unknown[] = []
    query.subscribe(({ status }) => told.push(status))
    await device.clock.until(client.load('Issue'))
    expect(shown(client)).toEqual({ 1: { title: 'Milk' } })
    // Of a type without records, too, its queries are told that there is nothing.
    expect(told).toEqual(['ready'])
  })
})

describe('a snapshot that replaces the data', () => {
  test('keeps the loaded types while it is stored', async () => {
    const { device, client, disk } = await onUnreliable()
    device.insert('n', {}, 'Note')
    await device.clock.advance(1_000)
    device.server.failNext(faults.gone(), { path: '/delta' })
    device.network.latencyMs = 100
    const synced = client.sync()
    await device.clock.advance(250)
    client.count('Issue')
    await device.clock.advance(1)
    expect([disk.reads, shown(client)]).toEqual([1, { 1: { title: 'Milk' } }])
    // What was used is read once more, for the snapshot; that takes time, other than what is read meanwhile.
    disk.read = () => {
      disk.read = () => undefined
      return new Promise<void>((resolve) => void device.clock.after(200, resolve))
    }
    while (disk.reads === 1) await device.clock.advance(1)
    const told: string[] = []
    const query = client.query('Note')
    query.subscribe(({ status, rows }) => told.push(`${status} ${rows.length}`))
    await device.clock.until(Promise.all([client.load('Note'), synced]))
    await device.clock.advance(1_000)
    expect([told, query.status, shown(client)]).toEqual([['ready 1'], 'ready', { 1: { title: 'Milk' } }])
  })
})

/** A device with 12 large records, whose disk does not take the first page. */
function onReluctant(): Device {
  let failing = 1
  const store = watching(memoryStore(), ({ mode, tables }) => {
    if (mode !== 'write' || !tables.includes('pages') || tables.includes('journal') || failing === 0) return
    failing -= 1
    throw new StorageError('aborted', 'Not now.')
  })
  const device = new Device({ store })
  for (let n = 1; n <= 12; n += 1) device.insert(`${n}`, { text: 'x'.repeat(600_000) })
  return device
}

test('a snapshot that the disk refuses is fetched once if no type is lazy', async () => {
  const device = onReluctant()
  const client = device.client()
  await expect(device.clock.until(client.sync())).rejects.toMatchObject({ name: 'StorageError' })
  expect([device.requests, client.count('Issue')]).toEqual([['bootstrap'], 12])
})

test('a snapshot that the disk refuses is fetched again at once into memory', async () => {
  const device = onReluctant()
  const client = device.client({ models })
  const rows: number[] = []
  client.on('status', ({ data }) => {
    if (data.state === 'loading') rows.push(data.progress?.rows ?? 0)
  })
  await expect(device.clock.until(client.sync())).resolves.toMatchObject({ kind: 'bootstrap' })
  const again = rows.findIndex((one, index) => one < (rows[index - 1] ?? 0))
  expect(again).toBeGreaterThan(0)
  expect(Math.max(...rows.slice(0, again))).toBeLessThan(8)
  expect(client.query('Issue').status).toBe('ready')
  expect(client.count('Issue')).toBe(12)
})

test('data that was read before a snapshot is not shown over it', async () => {
  let wait = false
  const store = withSteps(memoryStore(), {
    awaited: ({ name, mode }) => {
      if (!wait || name !== 'complete' || mode !== 'read') return
      wait = false
      return new Promise<void>((resolve) => void device.clock.after(5_000, resolve))
    },
    immediate() {},
  })
  const { device, client } = await restarted({}, new Device({ store, push: 'none' }))
  wait = true
  client.count('Issue')
  await device.clock.advance(1)
  device.update('1', { title: 'Bread' })
  device.server.failNext(faults.gone(), { path: '/delta' })
  await device.clock.until(client.sync())
  await device.clock.advance(10_000)
  expect([wait, shown(client)]).toEqual([false, { 1: { title: 'Bread' } }])
})

test.each(['eager', 'lazy'] as const)(
  'a change to a missing record is reported and repaired, for a type that is %s',
  async (load) => {
    const one = { Issue: model(schema, { load }) }
    const { device, client } = await restarted({ models: one }, new Device({ push: 'none' }))
    mislead(device, 'Issue')
    await device.clock.advance(5_000)
    await device.clock.until(client.load('Issue'))
    await device.clock.advance(5_000)
    expect(device.log).toEqual([
      'anomaly unknown_record: The server updated an unknown record: Issue nobody.',
      'reset repair since 2',
    ])
  },
)
