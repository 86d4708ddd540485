import { describe, expect, test } from 'vitest'
import { standardTxCodec } from '../../src/protocol/tx.ts'
import { at, notes } from '../support/office.ts'
import { oneNote } from '../support/one-note.ts'

async function open(options: Parameters<typeof oneNote>[0] = {}) {
  const { office, desk, client } = await oneNote(options)
  const type = (fields: object, coalesce = 'edit') =>
    client.mutate((m) => m.update('Note', '1', { ...fields }), { coalesce })
  return { office, desk, client, type }
}

describe('transactions of one key', () => {
  test('are one while they wait, and come back as one', async () => {
    const { office, desk, client, type } = await open()
    await client.stop()
    const first = type({ title: 'O' })
    await office.clock.until(first.durable)
    type({ title: 'Oa' })
    const last = type({ title: 'Oat' })
    await office.clock.until(last.durable)
    expect([first.state, client.outbox.list()]).toEqual(['cancelled', [last]])
    expect(last.records[0]).toMatchObject({ base: { title: 'Milk' }, mine: { title: 'Oat' } })
    await desk.kill()
    const again = desk.client()
    await again.start()
    expect(again.outbox.list().map(({ id }) => id)).toEqual([last.id])
    await office.clock.advance(60_000)
    expect(office.received).toEqual([last.id])
    expect(await office.rows()).toEqual({ 1: { title: 'Oat', n: 1 } })
  })

  test('lose nothing of what the earlier ones wrote', async () => {
    const { office, desk, client, type } = await open()
    desk.network.cut()
    client.mutate((m) => m.insert('Note', { id: '2', title: 'B' }), { coalesce: 'edit' })
    client.mutate((m) => m.update('Note', '2', { n: 2 }), { coalesce: 'edit' })
    type({ more: true })
    expect(client.outbox.list()).toHaveLength(1)
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1, more: true }, 2: { title: 'B', n: 2 } })
    desk.network.mend()
    await office.clock.advance(60_000)
    expect(await office.rows()).toEqual(notes(client))
  })

  test('keep their place where something was built on the earlier one', async () => {
    const { office, desk, client, type } = await open()
    desk.network.cut()
    client.mutate((m) => m.insert('Note', { id: '2', title: 'B' }), { coalesce: 'new' })
    client.mutate((m) => m.update('Note', '2', { title: 'Bread' }))
    client.mutate((m) => m.update('Note', '2', { n: 2 }), { coalesce: 'new' })
    type({ title: 'O' })
    client.mutate((m) => m.update('Note', '1', { title: 'Other' }))
    type({ n: 5 })
    expect(client.outbox.list()).toHaveLength(6)
    const shown = notes(client)
    expect(shown).toEqual({ 1: { title: 'Other', n: 5 }, 2: { title: 'Bread', n: 2 } })
    desk.network.mend()
    await office.clock.advance(60_000)
    expect([await office.rows(), client.outbox.list()]).toEqual([shown, []])
  })

  test('are others once the earlier one is on its way, or has another key', async () => {
    const { office, client, type } = await open()
    const first = type({ title: 'O' })
    await office.clock.until(first.accepted)
    const second = type({ title: 'Oa' })
    const third = type({ title: 'Oat' }, 'another')
    await office.clock.until(Promise.all([second.synced, third.synced]))
    expect(first.state).toBe('synced')
    expect(new Set(office.received).size).toBe(3)
    expect(notes(client)).toEqual({ 1: { title: 'Oat', n: 1 } })
  })

  test('are not more together than a server takes in one', async () => {
    const { office, desk, client } = await open()
    desk.network.cut()
    const add = (count: number) => {
      const body: Parameters<typeof client.mutate>[0] = (m) => {
        for (let n = 0; n < count; n += 1) m.insert('Note', {})
      }
      return client.mutate(body, { coalesce: 'new' })
    }
    const [first, full, more, last] = [add(600), add(400), add(1), add(1)] as const
    expect([first.state, client.outbox.list()]).toEqual(['cancelled', [full, last]])
    desk.network.mend()
    await office.clock.advance(60_000)
    expect([full, more, last].map(({ state }) => state)).toEqual(['synced', 'cancelled', 'synced'])
    expect(Object.keys(await office.rows())).toHaveLength(1_003)
  })

  test('require what the earlier ones required', async () => {
    const { office, client, type } = await open()
    await client.stop()
    const required = client.mutate((m) => m.insert('Note', { id: '2' }))
    client.mutate((m) => m.update('Note', '1', { n: 2 }), { coalesce: 'edit', requires: [required] })
    const last = type({ n: 3 })
    await office.clock.until(required.undo())
    expect([last.state, last.rejection?.reason]).toEqual(['rejected', 'dependency_rejected'])
  })

  test('are no conflict with what the earlier ones were made on top of, whatever became of that', async () => {
    const { office, client, type } = await open({
      transactionCodec: { ...standardTxCodec, maxTransactions: 1 },
    })
    office.intercept = at('tx', async (_, pass) => {
      const response = await pass()
      await new Promise<void>((resolve) => void office.clock.after(500, resolve))
      return response
    })
    const below = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    client.mutate((m) => m.update('Note', '1', { title: 'O' }, { ifUnchanged: true }), { coalesce: 'edit' })
    await office.clock.until(below.synced)
    const last = type({ title: 'Oat' })
    expect(client.outbox.list()).toEqual([last])
    await office.clock.advance(5_000)
    expect(last.state).toBe('synced')
  })

  test('are undone in one step', async () => {
    const { office, desk, client, type } = await open()
    desk.network.cut()
    for (const title of ['O', 'Oa', 'Oat']) type({ title })
    expect(await office.clock.until(client.undo())).toBe(true)
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
    expect(await client.undo()).toBe(false)
    expect(await office.clock.until(client.redo())).toBe(true)
    expect(client.get('Note', '1')?.title).toBe('Oat')
  })

  test('leave the steps before them to be undone, however many they are', async () => {
    const { office, desk, client, type } = await open()
    desk.network.cut()
    client.mutate((m) => m.update('Note', '1', { title: 'Bread' }))
    for (let n = 2; n < 200; n += 1) type({ n })
    expect(await office.clock.until(client.undo())).toBe(true)
    expect(notes(client)).toEqual({ 1: { title: 'Bread', n: 1 } })
    expect(await office.clock.until(client.undo())).toBe(true)
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
  })

  test('are joined with the last one, also where one before it comes from the disk only then', async () => {
    const { office, desk, client, type } = await open()
    await client.stop()
    const first = type({ title: 'O' })
    await office.clock.until(first.durable)
    await desk.kill()
    desk.network.cut()
    const again = desk.client()
    const put = (title: string) =>
      again.mutate((m) => m.put('Note', { id: '1', title }), { coalesce: 'edit' })
    put('Oa')
    await again.start()
    const last = put('Oat')
    expect(again.outbox.list().map(({ id }) => id)).toEqual([first.id, last.id])
    desk.network.mend()
    await office.clock.advance(60_000)
    expect(await office.rows()).toEqual({ 1: { title: 'Oat' } })
  })

  test('are not joined with one that a rejected one requires, which may be tried anew', async () => {
    const { office, client } = await open()
    await client.stop()
    const other = client.mutate((m) => m.insert('Note', { id: 'other' }))
    const first = client.mutate((m) => m.update('Note', '1', { n: 5 }), { coalesce: 'edit' })
    const both = client.mutate((m) => m.insert('Note', { id: 'both' }), { requires: [first, other] })
    await office.clock.until(other.undo())
    client.mutate((m) => m.update('Note', '1', { n: 6 }), { coalesce: 'edit' })
    expect([first.state, both.state]).toEqual(['queued', 'rejected'])
    await office.remove('1')
    const again = client.outbox.retry(both.id)
    await client.start()
    await office.clock.advance(60_000)
    expect([first, again].map(({ rejection }) => rejection?.reason)).toEqual([
      'not_found',
      'dependency_rejected',
    ])
  })
})

test('changes of many records are joined as long as together they are no more than a server takes', async () => {
  const { office, desk, client } = await open()
  desk.network.cut()
  const ids = Array.from({ length: 600 }, (_, n) => `n${n}`)
  client.mutate((m) => ids.forEach((id) => void m.insert('Note', { id })))
  for (const x of [1, 2, 3]) {
    client.mutate((m) => ids.forEach((id) => void m.update('Note', id, { x })), { coalesce: 'drag' })
  }
  expect(client.outbox.list()).toHaveLength(2)
  await office.clock.until(client.undo())
  expect(client.get('Note', 'n0')).toEqual({ id: 'n0' })
})
