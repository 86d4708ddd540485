import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import type { Transaction } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { StoreConnection } from '../../src/storage/store.ts'
import { FaultyStore, faults } from '../support/store-faults.ts'
import { at, failure, inStep, notes, TestBackend } from '../support/test-backend.ts'
import { around, watching, writesOutbox } from '../support/watching-store.ts'

const full = () => new StorageError('quota', 'The disk is full.')

const told = (tx: Transaction) => {
  const heard = { durable: false, failed: false }
  tx.durable.then(
    () => (heard.durable = true),
    () => (heard.failed = tx.state === 'failed'),
  )
  return heard
}

test('invariant 18: a transaction is reported as durable only once it is on disk', async () => {
  const inner = memoryStore()
  let release = () => {}
  let held = false
  const store = watching(inner, async (options) => {
    if (!held || !writesOutbox(options)) return
    await new Promise<void>((resolve) => {
      release = resolve
    })
  })
  const { backend, device, client } = await inStep({}, { store })
  held = true
  const tx = client.mutate((m) => m.insert('Note', { id: '1' }))
  const heard = told(tx)
  await backend.clock.advance(1_000)
  expect([tx.state, heard.durable, backend.received]).toEqual(['writing', false, []])
  held = false
  release()
  device.network.cut()
  await backend.clock.until(tx.durable)
  // The process is gone at that very moment.
  const other = backend.device({ store: inner })
  other.network.cut()
  const next = other.client()
  await next.start()
  expect(next.outbox.get(tx.id)?.state).toBe('queued')
})

describe.each(faults)('a store that fails once by %s', (fault) => {
  test('at any step of a write loses no durable transaction, and sends no failed one', async () => {
    for (let step = 0; step < 40; step += 1) {
      const inner = memoryStore()
      const faulty = new FaultyStore(inner)
      const { backend, device, client } = await inStep({ 0: { n: 0 } }, { store: faulty.store })
      faulty.arm(step, fault)
      const write = (n: number) => client.mutate((m) => m.update('Note', '0', { [`f${n}`]: n }))
      const made = [write(1)]
      await backend.clock.advance(15)
      made.push(write(2), write(3))
      const heard = made.map(told)
      await backend.clock.advance(60_000)
      const struck = faulty.struck || fault === 'hang'
      if (fault === 'crash' && faulty.struck) device.network.cut()
      else await device.kill()

      const after = backend.device({ store: inner })
      const next = await after.live()
      await backend.clock.advance(300_000)
      expect(notes(next)).toEqual(await backend.rows())
      expect(next.status.writes).toEqual({ pending: 0, rejected: 0 })
      expect(backend.head).toBe(1 + new Set(backend.received).size)
      for (const [n, tx] of made.entries()) {
        const happened = Object.hasOwn(next.get('Note', '0') ?? {}, `f${n + 1}`)
        if (heard[n]?.durable) expect([fault, step, n, happened]).toEqual([fault, step, n, true])
        // What a process says that is gone, nobody hears.
        if (heard[n]?.failed && fault !== 'crash')
          expect([fault, step, n, happened]).toEqual([fault, step, n, false])
        expect(['synced', 'failed', 'queued', 'writing', 'sending', 'accepted']).toContain(tx.state)
      }
      await after.kill()
      if (!struck) return
    }
  })
})

describe('a store that fails', () => {
  /** A client that runs on a store whose writes to the outbox fail while `is.failing`. */
  async function failing(error = full) {
    const backend = new TestBackend()
    await backend.insert('1', { title: 'Milk' })
    const is = { failing: false }
    const inner = memoryStore()
    const device = backend.device({
      store: watching(inner, (options) => {
        if (is.failing && writesOutbox(options)) throw error()
      }),
    })
    return { backend, device, is, client: await device.live() }
  }

  const unwritable = () => new StorageError('aborted', 'It broke.')

  test('invariant 18: keeps an offline write that cannot be stored, with its dependents, and reports it', async () => {
    const { backend, device, client, is } = await failing(unwritable)
    device.network.cut()
    await backend.clock.advance(10_000)
    is.failing = true
    const lost = client.mutate((m) => m.insert('Note', { id: '2' }))
    const dependent = client.mutate((m) => m.update('Note', '2', { n: 1 }), { label: 'dependent' })
    expect(notes(client)).toMatchObject({ 2: { n: 1 } })
    await backend.clock.advance(1_000)
    expect([lost.state, dependent.state]).toEqual(['queued', 'queued'])
    expect(notes(client)).toEqual({ 1: { title: 'Milk' }, 2: { n: 1 } })
    expect(device.log).toContain('error StorageError aborted')
    is.failing = false
    device.network.mend()
    const next = client.mutate((m) => m.insert('Note', { id: '3' }))
    await backend.clock.until(next.synced)
    expect(backend.received).toEqual([lost.id, dependent.id, next.id])
  })

  test('is named in the status until a write is stored', async () => {
    const { backend, client, is } = await failing(unwritable)
    expect(client.status.storage.reason).toBeUndefined()
    is.failing = true
    client.mutate((m) => m.insert('Note', { id: '2' }))
    await backend.clock.advance(1_000)
    expect(client.status.storage.reason).toBe('It broke.')
    await backend.insert('3')
    await backend.clock.advance(5_000)
    expect(client.status.storage.reason).toBe('It broke.')
    is.failing = false
    client.mutate((m) => m.insert('Note', { id: '4' }))
    await backend.clock.advance(1_000)
    expect(client.status.storage.reason).toBeUndefined()
  })

  test('keeps a rejected transaction in the inbox if its retry cannot be stored', async () => {
    const { backend, device, client, is } = await failing(unwritable)
    backend.intercept = at('tx', async () => failure(422, 'invalid'))
    const tx = client.mutate((m) => m.update('Note', '1', { n: 1 }), { label: 'Write' })
    await backend.clock.advance(10_000)
    is.failing = true
    for (const edit of [undefined, () => {}]) {
      const made = client.outbox.retry(tx.id, edit)
      await backend.clock.advance(1_000)
      expect(client.outbox.list()).toMatchObject([
        { id: tx.id, state: 'rejected', rejection: { reason: 'invalid' } },
      ])
      expect(client.status.writes).toEqual({ pending: 0, rejected: 1 })
      expect(made.state).toBe(edit ? 'synced' : 'failed')
    }
    is.failing = false
    backend.intercept = (_, pass) => pass()
    await backend.clock.until(client.outbox.retry(tx.id).synced)
    await device.kill()
    expect((await device.live()).outbox.list()).toEqual([])
  })

  test('keeps a transaction that cannot be cancelled, and reports it', async () => {
    const { backend, client, is } = await failing(unwritable)
    await backend.clock.until(client.stop())
    const tx = client.mutate((m) => m.update('Note', '1', { n: 1 }))
    await backend.clock.until(tx.durable)
    is.failing = true
    await expect(tx.undo()).rejects.toMatchObject({ name: 'StorageError' })
    expect(client.outbox.list()).toMatchObject([{ id: tx.id, state: 'queued' }])
    expect(client.get('Note', '1')?.n).toBe(1)
  })

  test('invariant 22: an accepted write does not fail because of a later local error', async () => {
    const { backend, device, client, is } = await failing()
    backend.push = (message, send) => void backend.clock.after(500, () => send(message))
    backend.intercept = at('tx', (_, pass) => {
      is.failing = true
      return pass()
    })
    const tx = client.mutate((m) => m.update('Note', '1', { n: 1 }))
    await backend.clock.until(tx.synced)
    await backend.clock.advance(10_000)
    expect(tx.state).toBe('synced')
    expect(await tx.accepted).toBe(2)
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
    expect(device.log).toEqual([])
    is.failing = false
    const next = await device.restart()
    await backend.clock.advance(10_000)
    expect([next.outbox.list(), backend.head]).toEqual([[], 2])
  })

  test('invariant 33: without room, the data is dropped first, and the outbox still gets room', async () => {
    const backend = new TestBackend()
    for (const id of ['1', '2', '3']) await backend.insert(id, { title: id })
    const is = { full: false }
    const pages = async (connection: StoreConnection) =>
      connection.transaction({ tables: ['pages'], mode: 'read' }, (tx) => tx.keys('pages'))
    let underneath: StoreConnection | undefined
    const store = around(memoryStore(), async (options, run, connection) => {
      underneath = connection
      if (is.full && writesOutbox(options) && (await pages(connection)).length > 0) throw full()
      return run()
    })
    const device = backend.device({ store })
    const client = await device.live()
    is.full = true
    device.network.cut()
    const tx = client.mutate((m) => m.insert('Note', { id: '4' }), { label: 'Add' })
    await backend.clock.until(tx.durable)
    expect(underneath && (await pages(underneath))).toEqual([])
    expect(client.status.storage.reason).toContain('full')
    expect(Object.keys(notes(client))).toEqual(['1', '2', '3', '4'])
    const next = await device.restart()
    await backend.clock.advance(10_000)
    expect(next.outbox.list()).toEqual([])
    expect(Object.keys(await backend.rows())).toEqual(['1', '2', '3', '4'])
    expect(notes(next)).toEqual(await backend.rows())
  })

  test('invariant 33: without room and without a network, keeps writes, and stores them once there is room', async () => {
    const { backend, device, client, is } = await failing()
    device.network.cut()
    await backend.clock.advance(10_000)
    is.failing = true
    const tx = client.mutate((m) => m.insert('Note', { id: '2' }))
    await backend.clock.advance(1_000)
    expect(tx.state).toBe('queued')
    expect(client.status.storage.reason).toContain('full')
    expect(notes(client)).toEqual({ 1: { title: 'Milk' }, 2: {} })
    is.failing = false
    await backend.clock.until(tx.durable)
    expect(notes(await device.offline())).toEqual({ 2: {} })
  })

  test('invariant 11: that lost the data sends accepted writes again, since the history may be another', async () => {
    const { backend, device, client } = await failing()
    backend.push = () => {}
    const tx = client.mutate((m) => m.update('Note', '1', { n: 1 }))
    await backend.clock.until(tx.accepted)
    await device.kill()
    const name = `instep:${JSON.stringify(['https://sync.test/sync/v1/bootstrap', 'ada'])}`
    const connection = await device.store.open(name)
    await connection.transaction({ tables: ['meta'], mode: 'write' }, async (tx) => tx.delete('meta', 'head'))
    connection.close()
    await backend.server.restore()
    await backend.insert('1', { title: 'Milk' })
    const next = await device.live()
    await backend.clock.advance(60_000)
    expect([await backend.rows(), next.outbox.list()]).toEqual([{ 1: { title: 'Milk', n: 1 } }, []])
  })
})
