import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { add, notes, TestBackend } from '../support/test-backend.ts'

/** What opening a store comes to, while it opens none. */
type Opening = () => Promise<never>

const silent: Opening = () => new Promise(() => {})
const failing: Opening = () => Promise.reject(new StorageError('unavailable', 'It cannot be opened.'))

/** A store that opens only while it is not `stuck`. */
class StuckStore {
  stuck: Opening | undefined
  readonly #inner = memoryStore()
  readonly store: Store = {
    kind: 'durable',
    open: (name) => this.stuck?.() ?? this.#inner.open(name),
    destroy: (name) => this.#inner.destroy(name),
  }
}

/** A client with one record from the server and one write of its own on its disk, which does not open at first. */
async function stuck(opening = silent) {
  const backend = new TestBackend()
  await backend.insert('1', { title: 'Milk' })
  const disk = new StuckStore()
  const device = backend.device({ store: disk.store })
  const before = await device.live()
  device.network.cut()
  await backend.clock.until(add(before, '2').durable)
  await device.kill()
  disk.stuck = opening
  const client = device.client()
  await backend.clock.until(client.start())
  expect(client.status.storage).toEqual({ kind: 'memory', reason: expect.any(String) })
  return { backend, disk, device, client }
}

test.each([
  ['gave no sign of life', silent],
  ['could not be opened', failing],
])('a store that %s shows its content later, and earlier writes are sent', async (_, opening) => {
  const { backend, disk, device, client } = await stuck(opening)
  expect(notes(client)).toEqual({})
  disk.stuck = undefined
  await backend.clock.advance(120_000)
  expect(client.status.storage).toEqual({ kind: 'durable' })
  expect(notes(client)).toEqual({ 1: { title: 'Milk' }, 2: {} })
  device.network.mend()
  await backend.clock.advance(60_000)
  expect(Object.keys(await backend.rows())).toEqual(['1', '2'])
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
})

test('a store that opens late gets the current data', async () => {
  const { backend, disk, device, client } = await stuck()
  device.network.mend()
  await backend.clock.advance(5_000)
  await backend.insert('3')
  const tx = add(client, '4')
  await backend.clock.until(tx.synced)
  expect(Object.keys(notes(client))).toEqual(['1', '3', '4'])
  disk.stuck = undefined
  await backend.clock.advance(120_000)
  expect(client.status.storage).toEqual({ kind: 'durable' })
  expect(Object.keys(notes(client))).toEqual(['1', '2', '3', '4'])
  expect(backend.received).toHaveLength(2)
  await device.kill()
  const again = device.client()
  await backend.clock.until(again.start())
  expect(Object.keys(notes(again))).toEqual(['1', '2', '3', '4'])
})

test('a store that never opens is tried every 10 minutes, and not after close', async () => {
  const { backend, disk, client } = await stuck()
  const times: number[] = []
  disk.stuck = () => {
    times.push(backend.clock.now())
    return silent()
  }
  await backend.clock.advance(6 * 3_600_000)
  const waits = times.slice(1).map((time, n) => (time - (times[n] ?? 0)) / 1_000)
  // Each opening is given 10 s.
  expect(waits).toEqual(waits.map(() => 610))
  const { length } = times
  expect(length).toBeGreaterThan(30)
  await backend.clock.until(client.close())
  await backend.clock.advance(48 * 3_600_000)
  expect(times).toHaveLength(length)
})
