import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { faults } from '../support/bare-server-faults.ts'
import { dataOf, inStep, shown } from '../support/device.ts'
import { FaultyStore } from '../support/store-faults.ts'

/** A client with one record, on a disk that can be made to fail. */
async function onFaulty() {
  const faulty = new FaultyStore(memoryStore())
  const { device, client } = await inStep({ 1: {} }, {}, { store: faulty.store, push: 'none' })
  return { faulty, device, client }
}

const notDurable = { name: 'StorageError', code: 'aborted' }

describe('a store that fails', () => {
  test('while a snapshot is stored: the snapshot is shown, sync rejects, and the next one is stored', async () => {
    const { faulty, device, client } = await onFaulty()
    device.server.failNext(faults.gone(), { path: '/delta' })
    device.insert('2')
    faulty.arm(0, 'throw')
    await expect(device.clock.until(client.sync())).rejects.toMatchObject(notDurable)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    expect(client.status.storage.reason).toBe('A fault on purpose.')

    device.insert('3')
    await expect(device.clock.until(client.sync())).rejects.toMatchObject(notDurable)
    device.server.failNext(faults.gone(), { path: '/delta' })
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', sid: 3 })
    expect(client.status.storage.reason).toBeUndefined()
    expect(dataOf(await device.offline())).toEqual({ shown: { 1: {}, 2: {}, 3: {} }, lastSyncId: 3 })
  })

  test('while a delta is stored: sync rejects, and the next sync stores it', async () => {
    const { faulty, device, client } = await onFaulty()
    device.insert('2')
    faulty.arm(1, 'throw')
    await expect(device.clock.until(client.sync())).rejects.toMatchObject(notDurable)
    expect(client.status.storage.reason).toBe('A fault on purpose.')
    expect(await device.clock.until(client.sync())).toEqual({ kind: 'delta', sid: 2, changes: 0 })
    expect(client.status.storage.reason).toBeUndefined()
    expect(dataOf(await device.offline())).toEqual({ shown: { 1: {}, 2: {} }, lastSyncId: 2 })
  })

  test('while a delta is stored, is tried once more when the client is closed', async () => {
    const { faulty, device, client } = await onFaulty()
    device.insert('2')
    faulty.arm(1, 'throw')
    await expect(device.clock.until(client.sync())).rejects.toMatchObject(notDurable)
    expect(dataOf(await device.offline())).toEqual({ shown: { 1: {}, 2: {} }, lastSyncId: 2 })
  })

  test('while it is read: the client fetches a snapshot, and recovers', async () => {
    const { faulty, device } = await onFaulty()
    await device.quit()
    device.network.cut()
    const client = device.client()
    // Behind the opening, whose fence takes 8 steps and an end, the outbox, and the caller.
    faulty.arm(17, 'throw')
    await client.start()
    expect(faulty.struck).toBe(true)
    expect(client.status).toMatchObject({
      data: { state: 'none' },
      storage: { reason: 'A fault on purpose.' },
    })
    device.network.mend()
    await device.clock.advance(5_000)
    expect(shown(client)).toEqual({ 1: {} })
    expect(client.status.storage.reason).toBeUndefined()
    expect(dataOf(await device.offline())).toEqual({ shown: { 1: {} }, lastSyncId: 1 })
  })

  test('while a checkpoint is made: nothing is lost, and the next one succeeds', async () => {
    const { faulty, device, client } = await onFaulty()
    const text = 'x'.repeat(600_000)
    const insert = async (id: string, fields: object) => {
      device.insert(id, { ...fields })
      await device.clock.until(client.sync())
    }
    await insert('2', { text })
    await insert('3', {})
    faulty.arm(0, 'throw')
    await device.clock.advance(3_000)
    expect(client.status.storage.reason).toBe('A fault on purpose.')
    await insert('4', {})
    await device.clock.advance(3_000)
    expect(client.status.storage.reason).toBeUndefined()
    expect(dataOf(await device.offline())).toMatchObject({
      shown: { 1: {}, 2: { text }, 3: {}, 4: {} },
      lastSyncId: 4,
    })
  })
})

test('every call of close waits until all changes are stored', async () => {
  const { faulty, device, client } = await onFaulty()
  device.insert('2')
  faulty.arm(0, 'hang')
  const sync = expect(client.sync()).rejects.toMatchObject({ name: 'StorageError', code: 'timeout' })
  await device.clock.advance(50)
  const closings = [client.close(), client.close()]
  let closed = 0
  for (const closing of closings) void closing.then(() => (closed += 1))
  await device.clock.advance(1_000)
  expect(closed).toBe(0)
  await device.clock.until(Promise.all(closings))
  await sync
})
