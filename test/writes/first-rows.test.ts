import { describe, expect, test } from 'vitest'
import { notes, Office, watched } from '../support/office.ts'

const count = 4_000

/** A desk where the first snapshot is on its way, and a part of it is shown. */
async function partlyLoaded() {
  const office = await Office.open()
  const ops = Array.from({ length: count }, (_, n) => ({
    op: 'i' as const,
    t: 'Note',
    id: `${n}`,
    p: { userId: 'ada', name: 'Milk', text: 'x'.repeat(100) },
  }))
  for (let n = 0; n < count; n += 500) await office.service.write(ops.slice(n, n + 500))
  const desk = office.desk()
  desk.network.chunkMs = 700
  const client = desk.client()
  await client.start()
  for (let n = 0; n < 1_000 && client.count('Note') === 0; n += 1) await office.clock.advance(20)
  return { office, desk, client, ready: () => office.clock.until(client.ready()) }
}

describe('a record that is shown before the first snapshot is whole', () => {
  test('can be written on: that stays, and happens once', async () => {
    const { office, client, ready } = await partlyLoaded()
    expect(client.count('Note')).toBeLessThan(count)
    const names = watched(client, '0', 'name')
    const tx = client.mutate((m) => m.update('Note', '0', { name: `${m.get('Note', '0')?.name}, oat` }))
    expect(client.status.data.state).toBe('loading')
    await ready()
    await office.clock.until(tx.synced)
    expect(names).toEqual(['Milk, oat'])
    expect(office.received.filter((id) => id === tx.id).length).toBeGreaterThan(0)
    expect(await office.rows()).toMatchObject({ 0: { name: 'Milk, oat' }, 1: { name: 'Milk' } })
    expect(client.count('Note')).toBe(count)
    await office.clock.until(tx.undo())
    await office.clock.advance(5_000)
    expect(await office.rows()).toMatchObject({ 0: { name: 'Milk' } })
    expect(client.outbox.list()).toEqual([])
  })

  test('may have changed since, as far as anybody can tell: under a condition, that is a conflict', async () => {
    const { office, client, ready } = await partlyLoaded()
    const tx = client.mutate((m) => m.update('Note', '0', { name: 'Oat' }, { ifUnchanged: true }))
    await ready()
    await office.clock.until(tx.settled)
    expect(tx.rejection).toMatchObject({ reason: 'conflict' })
    expect(client.get('Note', '0')).toMatchObject({ name: 'Milk' })
    const retried = client.outbox.retry(tx.id)
    await office.clock.until(retried.synced)
    expect(await office.rows()).toMatchObject({ 0: { name: 'Oat' } })
  })

  test('is gone after a crash, as all of it; what was written on it is not', async () => {
    const { office, desk, client } = await partlyLoaded()
    const tx = client.mutate((m) => m.update('Note', '0', { name: 'Oat milk' }))
    desk.network.cut()
    await office.clock.until(tx.durable)
    await desk.kill()
    desk.network.cut()
    const again = desk.client()
    await again.start()
    expect(notes(again)).toEqual({})
    expect(again.outbox.list()).toMatchObject([{ id: tx.id, state: 'queued' }])
    desk.network.mend()
    await office.clock.until(again.ready())
    expect(again.get('Note', '0')).toMatchObject({ name: 'Oat milk', text: 'x'.repeat(100) })
    await office.clock.advance(60_000)
    expect(await office.rows()).toMatchObject({ 0: { name: 'Oat milk' } })
  })
})
