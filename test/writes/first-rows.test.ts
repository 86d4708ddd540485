import { describe, expect, test } from 'vitest'
import { notes, TestBackend, watched } from '../support/test-backend.ts'

const count = 4_000

/** A device where the first snapshot is on its way, and a part of it is shown. */
async function partlyLoaded() {
  const backend = new TestBackend()
  const ops = Array.from({ length: count }, (_, n) => ({
    op: 'i' as const,
    t: 'Note',
    id: `${n}`,
    p: { userId: 'ada', name: 'Milk', text: 'x'.repeat(100) },
  }))
  for (let n = 0; n < count; n += 500) await backend.server.write(ops.slice(n, n + 500))
  const device = backend.device()
  device.network.chunkMs = 700
  const client = device.client()
  await client.start()
  for (let n = 0; n < 1_000 && client.count('Note') === 0; n += 1) await backend.clock.advance(20)
  return { backend, device, client, ready: () => backend.clock.until(client.ready()) }
}

describe('a record of an incomplete first snapshot', () => {
  test('can be changed, and the change happens once', async () => {
    const { backend, client, ready } = await partlyLoaded()
    expect(client.count('Note')).toBeLessThan(count)
    const names = watched(client, '0', 'name')
    const tx = client.mutate((m) => m.update('Note', '0', { name: `${m.get('Note', '0')?.name}, oat` }))
    expect(client.status.data.state).toBe('loading')
    await ready()
    await backend.clock.until(tx.synced)
    expect(names).toEqual(['Milk, oat'])
    expect(backend.received.filter((id) => id === tx.id).length).toBeGreaterThan(0)
    expect(await backend.rows()).toMatchObject({ 0: { name: 'Milk, oat' }, 1: { name: 'Milk' } })
    expect(client.count('Note')).toBe(count)
    await backend.clock.until(tx.undo())
    await backend.clock.advance(5_000)
    expect(await backend.rows()).toMatchObject({ 0: { name: 'Milk' } })
    expect(client.outbox.list()).toEqual([])
  })

  test('conflicts with a write under a condition, since it may have changed', async () => {
    const { backend, client, ready } = await partlyLoaded()
    const tx = client.mutate((m) => m.update('Note', '0', { name: 'Oat' }, { ifUnchanged: true }))
    await ready()
    await backend.clock.until(tx.settled)
    expect(tx.rejection).toMatchObject({ reason: 'conflict' })
    expect(client.get('Note', '0')).toMatchObject({ name: 'Milk' })
    const retried = client.outbox.retry(tx.id)
    await backend.clock.until(retried.synced)
    expect(await backend.rows()).toMatchObject({ 0: { name: 'Oat' } })
  })

  test('is gone after a crash, but the write on it is kept', async () => {
    const { backend, device, client } = await partlyLoaded()
    const tx = client.mutate((m) => m.update('Note', '0', { name: 'Oat milk' }))
    device.network.cut()
    await backend.clock.until(tx.durable)
    const again = await device.offline()
    expect(notes(again)).toEqual({})
    expect(again.outbox.list()).toMatchObject([{ id: tx.id, state: 'queued' }])
    device.network.mend()
    await backend.clock.until(again.ready())
    expect(again.get('Note', '0')).toMatchObject({ name: 'Oat milk', text: 'x'.repeat(100) })
    await backend.clock.advance(60_000)
    expect(await backend.rows()).toMatchObject({ 0: { name: 'Oat milk' } })
  })
})
