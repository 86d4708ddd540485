import { describe, expect, test } from 'vitest'
import { StorageError, type Transaction } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { models } from '../support/lazy-types.ts'
import { FaultyStore } from '../support/store-faults.ts'
import { withSteps } from '../support/store-steps.ts'
import { at, conflict, failure, inStep, oneNote, TestBackend } from '../support/test-backend.ts'
import { readsPages, watching } from '../support/watching-store.ts'

/** A store that refuses what is written to the outbox while it `refuses`. */
function refusingDisk() {
  const disk = {
    refuses: false,
    store: withSteps(memoryStore(), {
      awaited: () => undefined,
      immediate: ({ table }) => {
        if (disk.refuses && table === 'outbox') throw new StorageError('aborted', 'Not now.')
      },
    }),
  }
  return disk
}

describe('the option merge', () => {
  test('replaces a rejected transaction, and gets all versions of its records', async () => {
    const asked: Transaction[] = []
    const { backend, device, client, tx } = await conflict({
      merge: (rejected) => {
        asked.push(rejected)
        const [record] = rejected.records
        return (m) => m.update('Note', '1', { title: `${record?.mine?.title} and ${record?.theirs?.title}` })
      },
    })
    expect(asked).toEqual([tx])
    expect(device.log).toEqual([])
    expect(await backend.rows()).toEqual({ 1: { title: 'mine and theirs', n: 2 } })
    expect(client.outbox.list()).toEqual([])
  })

  test('is called once the records are loaded, however slow the disk is', async () => {
    const backend = new TestBackend()
    await backend.insert('1', { title: 'Milk' })
    let waitMs = 0
    const store = watching(memoryStore(), async (options) => {
      if (waitMs > 0 && readsPages(options)) await backend.wait(waitMs)
    })
    const [device, other] = [backend.device({ store }), backend.device({ store })]
    const client = await device.live({
      models,
      merge: ({ records: [record] }) => {
        return (m) => m.update('Note', '1', { title: `${record?.mine?.title} and ${record?.theirs?.title}` })
      },
    })
    const gone = await other.live({ models })
    await backend.clock.until(gone.load('Note'))
    other.network.cut()
    const tx = gone.mutate((m) => m.update('Note', '1', { title: 'mine' }, { ifUnchanged: true }))
    await backend.clock.until(tx.durable)
    await other.kill()
    await backend.update('1', { title: 'theirs' })
    waitMs = 3_000
    // With it, what the other client has left is found and sent.
    client.mutate((m) => m.insert('Task', { id: '2' }))
    await backend.clock.advance(60_000)
    expect([device.log, client.outbox.list()]).toEqual([[], []])
    expect(await backend.rows()).toEqual({ 1: { title: 'mine and theirs' }, 2: {} })
  })

  test('that returns nothing keeps the transaction in the inbox', async () => {
    const { device, tx } = await conflict({ merge: () => undefined })
    expect([tx.state, device.log]).toEqual(['rejected', ['rejected Rename conflict']])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('Mine.')
      },
    ],
    [
      'throws when it writes',
      () => () => {
        throw new Error('Mine.')
      },
    ],
    [
      'writes something invalid',
      () => (m: { update(t: string, id: string, p: object): void }) => m.update('Note', 'none', {}),
    ],
    ['returns no function', () => Promise.resolve()],
  ])('that %s leaves the transaction in the outbox, and reports an error', async (_, merge) => {
    const { device, tx } = await conflict({ merge: merge as never })
    expect(tx.state).toBe('rejected')
    expect(device.log).toEqual([expect.stringMatching(/^error /), 'rejected Rename conflict'])
  })

  test('whose result cannot be stored keeps the transaction in the inbox, and reports it', async () => {
    const faulty = new FaultyStore(memoryStore())
    const { backend, device, client } = await inStep(
      {},
      {
        store: faulty.store,
        merge: () => {
          faulty.arm(0, 'throw')
          return (m) => m.insert('Note', { id: '2' })
        },
      },
    )
    backend.intercept = at('tx', async () => failure(422, 'invalid'))
    const tx = client.mutate((m) => m.insert('Note', { id: '1' }), { label: 'Add' })
    await backend.clock.advance(10_000)
    expect([tx.state, client.outbox.list()]).toEqual(['rejected', [tx]])
    expect(device.log).toEqual(['rejected Add invalid', 'error StorageError aborted'])
  })

  test.each(['discard', 'retry'] as const)(
    'whose result cannot be stored emits nothing if the application already chose to %s the transaction',
    async (choice) => {
      const disk = refusingDisk()
      const told: Transaction[] = []
      const { backend, client } = await inStep(
        {},
        {
          store: disk.store,
          merge: ({ retryOf }) => {
            if (retryOf !== undefined) return undefined
            disk.refuses = true
            return (m) => m.insert('Note', { id: '2' })
          },
        },
      )
      client.on('rejected', (rejected) => told.push(rejected))
      client.outbox.subscribe(() => {
        const [rejected] = disk.refuses ? client.outbox.list({ state: 'rejected' }) : []
        if (!rejected) return
        disk.refuses = false
        void client.outbox[choice](rejected.id)
      })
      backend.intercept = at('tx', async () => failure(422, 'invalid'))
      const tx = client.mutate((m) => m.insert('Note', { id: '1' }), { label: 'Add' })
      await backend.clock.advance(10_000)
      expect(tx.state).toBe('discarded')
      expect(told).not.toContain(tx)
    },
  )

  test('is not called for a transaction that was discarded during another call', async () => {
    const asked: Transaction[] = []
    const { backend, device, client } = await oneNote({
      merge: (rejected) => {
        asked.push(rejected)
        const others = client.outbox.list({ state: 'rejected' }).filter((one) => one !== rejected)
        for (const { id } of others) void client.outbox.discard(id)
        return undefined
      },
    })
    device.network.cut()
    await backend.remove('1')
    const made = [1, 2].map((n) => client.mutate((m) => m.update('Note', '1', { n }), { label: `${n}` }))
    device.network.mend()
    await backend.clock.advance(60_000)
    expect([asked, device.log]).toEqual([made.slice(0, 1), ['rejected 1 not_found']])
  })

  test('whose result is rejected again and again ends in the inbox', async () => {
    const { backend, device, client } = await inStep(
      {},
      { merge: () => (m) => m.insert('Note', { id: 'x' }) },
      { authorize: () => ({ message: 'Never.' }) },
    )
    client.mutate((m) => m.insert('Note', { id: 'x' }), { label: 'Add' })
    await backend.clock.advance(600_000)
    expect(backend.received).toHaveLength(6)
    expect(device.log).toEqual(['rejected Add forbidden'])
    expect(client.status.writes).toEqual({ pending: 0, rejected: 1 })
  })
})
