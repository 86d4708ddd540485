import { memoryStore, StorageError, type Store } from 'instep'
import { expect, test } from 'vitest'
import { ownServer } from '../support/own-server.ts'
import { watching, writesOutbox } from '../support/watching-store.ts'

/** A client in step, and a store whose writes of transactions fail while `disk.fails`, and wait while `disk.waits`. */
async function onDisk(kind: Store['kind'] = 'durable') {
  const server = ownServer()
  const disk = { fails: false, waits: false }
  const store = memoryStore()
  const inner = watching(store, (options) => {
    if (!writesOutbox(options)) return undefined
    if (disk.fails) throw new StorageError('aborted', 'Not now.')
    return disk.waits ? new Promise(() => {}) : undefined
  })
  const device = server.device()
  const client = device.client({ identity: 'ada', store: { ...inner, kind } })
  const errors: string[] = []
  client.on('error', ({ message }) => errors.push(message))
  await client.start()
  await server.settle()
  device.disconnect()
  await server.clock.advance(1_000)
  const add = () => client.mutate((m) => m.insert('Note', {}))
  const { clock } = server
  return {
    server,
    clock,
    disk,
    store,
    device,
    client,
    errors,
    add,
    unstored: () => client.status.writes.unstored,
  }
}

test('writes that the disk refuses are counted', async () => {
  const { clock, disk, add, unstored } = await onDisk()
  await clock.until(add().durable)
  disk.fails = true
  add()
  add()
  await clock.advance(60_000)
  expect(unstored()).toBe(2)
})

test('a refused write no longer counts once the disk has it', async () => {
  const { clock, disk, client, add, unstored } = await onDisk()
  disk.fails = true
  const tx = add()
  await clock.advance(1_000)
  disk.fails = false
  const heard: unknown[] = []
  client.on('status', ({ writes }) => heard.push(writes))
  await clock.until(tx.durable)
  await clock.advance(1_000)
  expect(unstored()).toBeUndefined()
  expect(heard.at(-1)).toEqual({ pending: 1, rejected: 0 })
})

test('a refused write no longer counts once the server has it', async () => {
  const { clock, disk, device, add, unstored } = await onDisk()
  disk.fails = true
  const tx = add()
  await clock.advance(1_000)
  expect(unstored()).toBe(1)
  device.reconnect()
  await clock.until(tx.accepted)
  await clock.advance(1)
  expect(unstored()).toBeUndefined()
})

test('a refused write that is undone no longer counts', async () => {
  const { clock, disk, add, unstored } = await onDisk()
  disk.fails = true
  const tx = add()
  await clock.advance(1_000)
  disk.fails = false
  await clock.until(tx.undo())
  expect(unstored()).toBeUndefined()
})

test('a write counts from the start until it is on the disk', async () => {
  const { clock, add, unstored } = await onDisk()
  const tx = add()
  expect(unstored()).toBe(1)
  await clock.until(tx.durable)
  await clock.advance(1)
  expect(unstored()).toBeUndefined()
})

test('a write that a disk never answers counts', async () => {
  const { clock, disk, add, unstored } = await onDisk()
  disk.waits = true
  add()
  for (const ms of [1_000, 120_000]) {
    await clock.advance(ms)
    expect(unstored()).toBe(1)
  }
})

test('once the database is deleted, writes count that were on the disk', async () => {
  const { clock, store, add, unstored } = await onDisk()
  await clock.until(add().durable)
  for (const name of (await store.names?.()) ?? []) await store.destroy(name)
  await clock.advance(60_000)
  expect(unstored()).toBe(1)
})

test('where the application keeps nothing on purpose, no write counts', async () => {
  const { server, clock, add, unstored } = await onDisk('memory')
  add()
  const bare = server.device().client({ identity: 'bob' })
  bare.mutate((m) => m.insert('Note', {}))
  expect([unstored(), bare.status.writes.unstored]).toEqual([undefined, undefined])
  await clock.advance(1_000)
  expect([unstored(), bare.status.writes.unstored]).toEqual([undefined, undefined])
})

test('`close` ends as usual, and says how many writes are lost', async () => {
  const { clock, disk, client, errors, add } = await onDisk()
  await clock.until(add().durable)
  disk.fails = true
  add()
  add()
  await clock.advance(1_000)
  errors.length = 0
  await clock.until(client.close())
  expect(errors.filter((message) => message.includes('has confirmed'))).toEqual([
    'Writes that neither the disk nor the server has confirmed: 2.',
  ])
  expect(client.status).toMatchObject({ lifecycle: 'closed', writes: { pending: 3, unstored: 2 } })
})

test('`close` says nothing of writes that are on the disk', async () => {
  const { clock, client, errors, add } = await onDisk()
  add()
  await clock.until(client.close())
  expect(errors).toEqual([])
  expect(client.status.writes).toEqual({ pending: 1, rejected: 0 })
})

test('`logout` asks what to do with writes that the disk has refused, and can keep them', async () => {
  const { clock, disk, client, add } = await onDisk()
  disk.fails = true
  add()
  await clock.advance(1_000)
  disk.fails = false
  await expect(clock.until(client.logout())).rejects.toMatchObject({ name: 'PendingError', pending: 1 })
  await expect(clock.until(client.logout({ pending: 'keep' }))).resolves.toMatchObject({ kept: 1 })
})
