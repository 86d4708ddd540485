import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { defineModels, type MutateOptions, type SyncClient } from '../../src/index.ts'
import type { Mutator } from '../../src/mutations/draft.ts'
import { backendUrl, notes, oneNote, TestBackend } from '../support/test-backend.ts'

const named = (name: string, more: object = {}) => expect.objectContaining({ name, ...more })

/** The client's state, as far as a refused write could have changed it. */
const stateOf = (client: SyncClient) => [notes(client), client.outbox.list(), client.status]

describe('mutate', () => {
  test('changes nothing, and notifies nobody, if its function throws', async () => {
    const { backend, client } = await oneNote()
    const before = stateOf(client)
    let told = 0
    client.on('change', () => (told += 1))
    client.outbox.subscribe(() => (told += 1))
    client.query('Note', {}).subscribe(() => (told += 1))
    const bodies: ((m: Mutator) => unknown)[] = [
      (m) => {
        m.update('Note', '1', { n: 2 })
        throw new Error('Mine.')
      },
      (m) => {
        m.delete('Note', '1')
        m.update('Note', '1', { n: 2 })
      },
      (m) => {
        m.insert('Note', { when: new Date(0) })
      },
      async (m) => {
        m.update('Note', '1', { n: 2 })
        await undefined
        m.update('Note', '1', { n: 3 })
      },
      (m) => {
        m.update('Note', '1', { n: 2 })
        client.mutate((inner) => inner.update('Note', '1', { n: 3 }))
      },
    ]
    for (const body of bodies) expect(() => client.mutate(body as () => void)).toThrow()
    await backend.clock.advance(1_000)
    expect(stateOf(client)).toEqual(before)
    expect([told, backend.received]).toEqual([0, []])
  })

  test('is refused inside another, which can continue', async () => {
    const { client } = await oneNote()
    let inner: unknown
    const tx = client.mutate((m) => {
      try {
        client.mutate(() => {})
      } catch (error) {
        inner = error
      }
      m.update('Note', '1', { n: 2 })
    })
    expect(inner).toEqual(named('ConfigurationError', { option: 'mutate' }))
    expect([tx.state, client.get('Note', '1')?.n]).toEqual(['writing', 2])
    client.mutate((m) => m.update('Note', '1', { n: 3 }))
  })

  test('in a listener comes after the change that the listener hears of, locally and at the server', async () => {
    const { backend, client } = await oneNote()
    const heard: unknown[] = []
    const follow = (n: number) => {
      if (client.get('Note', '1')?.n === n) client.mutate((m) => m.update('Note', '1', { n: n + 1 }))
    }
    client.query('Note', {}).subscribe(() => follow(2))
    client.on('change', () => follow(3))
    client.outbox.subscribe(() => follow(4))
    client.on('status', () => follow(5))
    client.on('change', ({ kind }) => heard.push(kind))
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    tx.subscribe(() => follow(6))
    expect(client.get('Note', '1')?.n).toBeGreaterThan(2)
    const inOrder = client.outbox.list().map(({ id }) => id)
    expect([...inOrder].sort()).toEqual(inOrder)
    expect(inOrder[0]).toBe(tx.id)
    await backend.clock.advance(60_000)
    expect([...new Set(backend.received)]).toEqual([...new Set(backend.received)].sort())
    expect(await backend.rows()).toEqual(notes(client))
    expect(client.outbox.list()).toEqual([])
  })

  test('in a listener that throws is kept, and the other listeners are called', async () => {
    const { backend, client } = await oneNote()
    let told = 0
    client.outbox.subscribe(() => {
      throw new Error('Mine.')
    })
    client.on('change', () => {
      throw new Error('Mine.')
    })
    client.on('change', () => (told += 1))
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    tx.subscribe(() => {
      throw new Error('Mine.')
    })
    await backend.clock.until(tx.synced)
    expect(told).toBeGreaterThan(0)
  })

  test('before start is shown and kept, and sent after start', async () => {
    const backend = new TestBackend()
    const device = backend.device()
    const client = device.client()
    const tx = client.mutate((m) => m.insert('Note', { id: '1', title: 'Early' }))
    expect(notes(client)).toEqual({ 1: { title: 'Early' } })
    await backend.clock.until(tx.durable)
    await backend.clock.advance(10_000)
    expect([tx.state, backend.received]).toEqual(['queued', []])
    await client.start()
    await backend.clock.until(tx.synced)
    expect(await backend.rows()).toEqual(notes(client))
  })

  test('before the disk is read comes after the stored transactions', async () => {
    const { backend, device, client } = await oneNote()
    device.network.cut()
    await backend.clock.until(client.mutate((m) => m.update('Note', '1', { title: 'first' })).durable)
    await device.kill()
    device.network.cut()
    const again = device.client()
    const tx = again.mutate((m) => m.put('Note', { id: '1', title: 'second' }))
    const early = again.mutate((m) => m.insert('Note', { id: '2' }))
    void again.start()
    await backend.clock.until(tx.durable)
    expect(again.outbox.list().slice(1)).toEqual([tx, early])
    expect(notes(again)).toEqual({ 1: { title: 'second' }, 2: {} })
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(await backend.rows()).toEqual({ 1: { title: 'second' }, 2: {} })
  })

  test('after stop works, and is sent after the next start', async () => {
    const { backend, client } = await oneNote()
    await backend.clock.until(client.stop())
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(tx.durable)
    await backend.clock.advance(60_000)
    expect([tx.state, backend.received, client.get('Note', '1')?.n]).toEqual(['queued', [], 2])
    await client.start()
    await backend.clock.until(tx.synced)
  })

  test('after close is refused, like every other write', async () => {
    const { backend, client } = await oneNote()
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(tx.synced)
    const closing = client.close()
    const closed = named('ClosedError')
    expect(() => client.mutate(() => {})).toThrow(closed)
    await backend.clock.until(closing)
    expect(() => client.mutate(() => {})).toThrow(closed)
    await expect(client.undo()).rejects.toThrow(closed)
    await expect(tx.undo()).rejects.toThrow(closed)
    await expect(client.outbox.discard('x')).rejects.toThrow(closed)
  })

  test('without a txUrl names the option', async () => {
    const backend = new TestBackend()
    const endpoints = {
      bootstrapUrl: `${backendUrl}/bootstrap`,
      deltaUrl: `${backendUrl}/delta`,
      wsUrl: `${backendUrl.replace('https', 'wss')}/ws`,
    }
    const client = await backend.device().live({ endpoints })
    expect(() => client.mutate(() => {})).toThrow(named('ConfigurationError', { option: 'endpoints.txUrl' }))
  })

  test('accepts every type without models; with models, only valid records of their types, and other types', async () => {
    const { backend, client } = await oneNote()
    const tx = client.mutate((m) => m.insert('Anything', { id: '1', userId: 'ada', list: [1, { a: null }] }))
    await backend.clock.until(tx.synced)
    const models = defineModels({ Note: z.object({ title: z.string() }) })
    const typed = await backend.device().live({ models } as never)
    const refused = named('ValidationError', { t: 'Note', field: 'title', code: 'validation' })
    expect(() => typed.mutate((m) => m.insert('Note', { title: 5 }))).toThrow(refused)
    typed.mutate((m) => m.insert('Other', { title: 5 }))
  })
})

test.each<[string, MutateOptions]>([
  ['mutate.lable', { lable: 'Rename' } as never],
  ['mutate.requires', { requires: ['0198'] as never }],
  ['mutate.requires', { requires: [{}] as never }],
  ['mutate.requires', { requires: [undefined] as never }],
  ['mutate.requires', { requires: { id: '0198' } as never }],
])('an error names the wrong option %s of `mutate`, and nothing is written', async (option, options) => {
  const { client } = await oneNote()
  const rename = () => client.mutate((m) => m.update('Note', '1', { title: 'Bread' }), options)
  expect(rename).toThrow(named('ConfigurationError', { option }))
  expect([notes(client), client.outbox.list()]).toEqual([{ 1: { title: 'Milk', n: 1 } }, []])
})

test('an error names a misspelt condition', async () => {
  const { client } = await oneNote()
  const options = { unchangd: true } as never
  const misspelt = named('ConfigurationError', { option: 'unchangd' })
  for (const write of [
    (m: Mutator) => m.update('Note', '1', { title: 'Bread' }, options),
    (m: Mutator) => m.put('Note', { id: '1', title: 'Bread' }, options),
    (m: Mutator) => m.delete('Note', '1', options),
  ]) {
    expect(() => client.mutate(write)).toThrow(misspelt)
  }
  expect([notes(client), client.outbox.list()]).toEqual([{ 1: { title: 'Milk', n: 1 } }, []])
})
