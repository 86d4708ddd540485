import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { SyncClient } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { inStep, notes, oneNote, TestBackend } from '../support/test-backend.ts'
import { around, watching, writesOutbox } from '../support/watching-store.ts'

const unreadable = () => new StorageError('aborted', 'It broke.')

describe('an outbox on disk', () => {
  test('invariant 27: that cannot be read at first blocks sending', async () => {
    const backend = new TestBackend()
    const inner = memoryStore()
    const before = backend.device({ store: inner })
    const writer = await before.live()
    await backend.clock.until(writer.stop())
    const first = writer.mutate((m) => m.insert('Note', { id: '1', n: 1 }))
    await backend.clock.until(first.durable)
    await before.kill()
    let failures = 3
    const store = watching(inner, ({ tables, mode }) => {
      if (tables.includes('outbox') && mode === 'read' && failures-- > 0) throw unreadable()
    })
    const device = backend.device({ store })
    const client = await device.live()
    const second = client.mutate((m) => m.insert('Note', { id: '2' }))
    await backend.clock.until(second.synced)
    expect(backend.received).toEqual([first.id, second.id])
    expect(device.log).toContain('error StorageError aborted')
    expect(notes(client)).toEqual({ 1: { n: 1 }, 2: {} })
  })

  test('that was deleted before it could be read does not keep later writes from being sent', async () => {
    let name = ''
    const inner = memoryStore()
    const store = watching(
      {
        ...inner,
        open: (opened) => {
          name = opened
          return inner.open(opened)
        },
      },
      ({ tables, mode }) => {
        if (tables.includes('outbox') && mode === 'read') throw unreadable()
      },
    )
    const { backend, client } = await inStep({}, { store })
    await store.destroy(name)
    const tx = client.mutate((m) => m.insert('Note', { id: '1' }))
    await backend.clock.until(tx.synced)
    expect(backend.received).toEqual([tx.id])
  })

  test('that cannot be read at first contains later writes once, with their results', async () => {
    const is = { failing: true }
    const store = watching(memoryStore(), ({ tables, mode }) => {
      if (is.failing && tables.includes('outbox') && mode === 'read') throw unreadable()
    })
    const { backend, client } = await inStep({}, { store })
    const tx = client.mutate((m) => m.insert('Note', { id: '1' }))
    await backend.clock.until(tx.durable)
    is.failing = false
    await backend.clock.advance(60_000)
    expect([tx.state, client.outbox.list(), backend.received]).toEqual(['synced', [], [tx.id]])
  })

  test('does not bring back writes that were undone while it was read', async () => {
    const backend = new TestBackend()
    const is = { failing: true }
    const store = around(memoryStore(), async (options, run) => {
      if (writesOutbox(options) || !options.tables.includes('outbox')) return run()
      if (is.failing) throw unreadable()
      const read = await run()
      await backend.wait(2_000)
      return read
    })
    const device = backend.device({ store })
    const client = await device.live()
    const tx = client.mutate((m) => m.insert('Note', { id: '1' }))
    await backend.clock.until(tx.durable)
    is.failing = false
    await backend.clock.until(client.stop())
    await client.start()
    await backend.clock.advance(1_000)
    await backend.clock.until(tx.undo())
    await backend.clock.advance(60_000)
    expect([tx.state, client.outbox.list(), backend.received]).toEqual(['cancelled', [], []])
  })

  test('invariant 35: reports unreadable entries, exports them as they are, and keeps them', async () => {
    const { backend, device, client } = await oneNote()
    await backend.clock.until(client.stop())
    const good = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(good.durable)
    await device.kill()
    const name = `instep:${JSON.stringify(['https://sync.test/sync/v1/bootstrap', 'ada'])}`
    const connection = await device.store.open(name)
    await connection.transaction({ tables: ['outbox'], mode: 'write' }, async (tx) =>
      tx.put('outbox', 'bad', '{"no'),
    )
    connection.close()
    for (let restart = 0; restart < 2; restart += 1) {
      device.log.length = 0
      const next: SyncClient = await device.live()
      await backend.clock.advance(10_000)
      expect(device.log).toEqual(['error StorageError unreadable'])
      expect((await next.outbox.export()).unreadable).toEqual(['{"no'])
      expect(next.get('Note', '1')?.n).toBe(2)
      await device.kill()
    }
    expect(await backend.rows()).toEqual({ 1: { title: 'Milk', n: 2 } })
  })
})
