import { describe, expect, test } from 'vitest'
import type { MutateOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { slowStore } from '../support/store-steps.ts'
import { notes, TestBackend } from '../support/test-backend.ts'

/** A client with one note, whose disk takes 10 ms to begin and to end a transaction. */
async function open() {
  const backend = new TestBackend()
  await backend.insert('1', { title: 'Milk', n: 1 })
  const device = backend.device({ store: slowStore(memoryStore(), backend.clock, 10) })
  const client = device.client()
  await backend.clock.until(client.start())
  await backend.clock.advance(1_000)
  const type = (fields: object, options: MutateOptions = {}) =>
    client.mutate((m) => m.update('Note', '1', { ...fields }), { coalesce: 'edit', ...options })
  return { backend, device, client, type }
}

describe('writes with the same `coalesce`', () => {
  test('are one transaction in one turn of the event loop', async () => {
    const { backend, client, type } = await open()
    const first = type({ title: 'O' })
    expect(type({ title: 'Oat' })).toBe(first)
    expect(first.records[0]).toMatchObject({ base: { title: 'Milk' }, mine: { title: 'Oat' } })
    await backend.clock.until(first.synced)
    expect(backend.received).toEqual([first.id])
    expect(notes(client)).toEqual({ 1: { title: 'Oat', n: 1 } })
    expect(await backend.rows()).toEqual({ 1: { title: 'Oat', n: 1 } })
  })

  test('are one transaction while an earlier write occupies the disk', async () => {
    const { backend, type } = await open()
    const first = type({ title: 'O' })
    await backend.clock.advance(5)
    const second = type({ title: 'Oa' })
    await backend.clock.advance(5)
    expect(type({ title: 'Oat' })).toBe(second)
    expect(second).not.toBe(first)
    await backend.clock.until(second.synced)
    expect(await backend.rows()).toEqual({ 1: { title: 'Oat', n: 1 } })
  })

  test('are durable together', async () => {
    const { backend, device, client, type } = await open()
    await backend.clock.until(client.stop())
    type({ title: 'O' })
    await backend.clock.until(type({ n: 2 }).durable)
    await device.kill()
    const again = device.client()
    await backend.clock.until(again.start())
    expect(notes(again)).toEqual({ 1: { title: 'O', n: 2 } })
  })

  test('are two transactions once the write of the first has begun', async () => {
    const { backend, client, type } = await open()
    await backend.clock.until(client.stop())
    const first = type({ title: 'O' })
    await backend.clock.advance(5)
    const second = type({ title: 'Oat' })
    expect(client.outbox.list()).toEqual([first, second])
  })

  test('lose nothing of the first one', async () => {
    const { client } = await open()
    const write = { coalesce: 'new' }
    client.mutate((m) => m.insert('Note', { id: '2', title: 'B' }), write)
    client.mutate((m) => m.update('Note', '2', { n: 2 }), write)
    expect(client.outbox.list()).toHaveLength(1)
    expect(client.get('Note', '2')).toEqual({ id: '2', title: 'B', n: 2 })
  })

  test.each([
    ['another key', { coalesce: 'other' }],
    ['another group', { group: 'other' }],
    ['another label', { label: 'Other' }],
  ])('are two transactions if the second one has %s', async (_, options) => {
    const { type } = await open()
    expect(type({ title: 'Oat' }, options)).not.toBe(type({ title: 'O' }))
  })

  test('are two transactions if another one was made in between', async () => {
    const { client, type } = await open()
    const first = type({ title: 'O' })
    client.mutate((m) => m.update('Note', '1', { title: 'Other' }))
    expect(type({ n: 5 })).not.toBe(first)
    expect(notes(client)).toEqual({ 1: { title: 'Other', n: 5 } })
  })

  test('are two transactions if one would have more ops than a server accepts', async () => {
    const { client } = await open()
    const add = (count: number) =>
      client.mutate(
        (m) => {
          for (let n = 0; n < count; n += 1) m.insert('Note', {})
        },
        { coalesce: 'new' },
      )
    const first = add(600)
    expect(add(400)).toBe(first)
    expect(add(1)).not.toBe(first)
  })

  test('require the transactions that each of them requires', async () => {
    const { backend, client, type } = await open()
    await backend.clock.until(client.stop())
    const required = client.mutate((m) => m.insert('Note', { id: '2' }))
    const first = type({ n: 2 }, { requires: [required] })
    expect(type({ n: 3 })).toBe(first)
    await backend.clock.until(required.undo())
    expect(first.rejection?.reason).toBe('dependency_rejected')
  })

  test('are undone and redone in one step', async () => {
    const { backend, device, client, type } = await open()
    device.network.cut()
    for (const title of ['O', 'Oa', 'Oat']) type({ title })
    expect(await backend.clock.until(client.undo())).toBe(true)
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
    expect(client.canUndo).toBe(false)
    expect(await backend.clock.until(client.redo())).toBe(true)
    expect(client.get('Note', '1')?.title).toBe('Oat')
  })
})
