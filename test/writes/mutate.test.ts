import { expect, test } from 'vitest'
import { notes, oneNote, TestBackend } from '../support/test-backend.ts'

test('a change is shown at once, is sent, and stays when the data has it', async () => {
  const { backend, client } = await oneNote()
  const seen: unknown[] = []
  client.query('Note', { where: { id: '1' } }).subscribe(({ rows }) => seen.push(rows[0]?.title))

  const tx = client.mutate((m) => {
    m.update('Note', '1', { title: 'Oat milk' })
    m.insert('Note', { id: '2', title: 'Bread', n: Number(m.get('Note', '1')?.n) + 1 })
  })
  expect(notes(client)).toEqual({ 1: { title: 'Oat milk', n: 1 }, 2: { title: 'Bread', n: 2 } })
  expect(client.confirmed('Note', '1')?.record.title).toBe('Milk')
  expect([tx.state, client.status.writes]).toEqual(['writing', { pending: 1, rejected: 0 }])

  await backend.clock.until(tx.durable)
  expect(tx.state).not.toBe('writing')
  const sid = await backend.clock.until(tx.accepted)
  expect(await backend.clock.until(tx.synced)).toBe(sid)
  expect(await tx.settled).toBe('synced')
  await backend.clock.advance(1_000)
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
  expect(await backend.rows()).toEqual(notes(client))
  expect(client.confirmed('Note', '1')?.record.title).toBe('Oat milk')
  expect(seen).toEqual(['Oat milk'])
  expect(client.outbox.list()).toEqual([])
})

test('an offline write is sent once the network is back, even after a restart', async () => {
  const backend = new TestBackend()
  const device = backend.device()
  const first = await device.live()
  device.network.cut()
  const tx = first.mutate((m) => m.insert('Note', { id: '1', title: 'Milk' }), { label: 'Add' })
  await backend.clock.until(tx.durable)
  const second = await device.offline()
  expect(notes(second)).toEqual({ 1: { title: 'Milk' } })
  expect(second.outbox.get(tx.id)?.label).toBe('Add')
  device.network.mend()
  const again = second.outbox.get(tx.id)
  if (!again) throw new Error('It is gone.')
  await backend.clock.until(again.synced)
  expect(await backend.rows()).toEqual({ 1: { title: 'Milk' } })
})
