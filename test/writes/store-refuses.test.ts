import { memoryStore, StorageError, type Store } from 'instep'
import { describe, expect, test } from 'vitest'
import { ownServer } from '../support/own-server.ts'
import { watching } from '../support/watching-store.ts'

type Refusal = () => void | Promise<void>

const aborts: Refusal = () => {
  throw new StorageError('aborted', 'UnknownError: Internal error committing transaction')
}

const refusals: { readonly [kind: string]: Refusal } = {
  'aborts each write': aborts,
  'has no room': () => {
    throw new StorageError('quota', 'There is no room.')
  },
  'is closed over and over': () => {
    throw new StorageError('closed', 'The engine closed it.', { retryable: true })
  },
  'never ends a write': () => new Promise(() => {}),
}

/** A client in step, whose store takes no writes from then on, for as long as `is.refusing`. */
async function onStoreThat(refuse: Refusal) {
  const server = ownServer()
  await server.write([{ op: 'i', t: 'Item', id: 'i1', p: { title: 'old' } }], 'ada')
  const is = { refusing: false }
  const refusing = watching(memoryStore(), ({ mode }) =>
    is.refusing && mode === 'write' ? refuse() : undefined,
  )
  const store: Store = { ...refusing, kind: 'durable' }
  const device = server.device()
  const client = device.client({ identity: 'ada', store })
  await client.start()
  await server.settle()
  is.refusing = true
  const rename = (title: string) => client.mutate((m) => m.update('Item', 'i1', { title }))
  const stored = async () => (await server.rows('ada'))[0]?.p.title
  return { server, device, client, store, is, rename, stored }
}

describe.each(Object.entries(refusals))('with a network, and a store that %s,', (_, refuse) => {
  test('invariant 33: a write is sent from memory', async () => {
    const { server, rename, stored } = await onStoreThat(refuse)
    const tx = rename('mine')
    await server.clock.advance(120_000)
    expect(tx.state).toBe('synced')
    expect(await stored()).toBe('mine')
  })

  test('`durable` resolves once the server has accepted the write', async () => {
    const { server, rename, stored } = await onStoreThat(refuse)
    await server.clock.until(rename('mine').durable)
    expect(await stored()).toBe('mine')
  })
})

test('invariant 33: a write in the first moment of a tab waits for the server’s first answer, and is sent', async () => {
  const { server, device, store, stored } = await onStoreThat(aborts)
  const client = device.client({ identity: 'ada', store })
  await client.start()
  const tx = client.mutate((m) => m.put('Item', { id: 'i1', title: 'early' }))
  await server.settle()
  expect(tx.state).toBe('synced')
  expect(await stored()).toBe('early')
})

test('invariant 18: a write that neither the store nor the server accepted stays shown, and is sent', async () => {
  const { server, device, client, rename } = await onStoreThat(aborts)
  device.disconnect()
  await server.settle()
  const tx = rename('mine')
  await server.clock.advance(60_000)
  expect(tx.state).toBe('queued')
  expect(client.get('Item', 'i1')?.title).toBe('mine')
  expect(client.status.storage.reason).toContain('Internal error')
  device.reconnect()
  await server.clock.until(tx.durable)
  await server.clock.until(tx.synced)
  expect(client.get('Item', 'i1')?.title).toBe('mine')
})

test('the promise `durable` of a write that was never stored rejects with the reason if the client is closed', async () => {
  const { server, device, client, rename } = await onStoreThat(aborts)
  device.disconnect()
  await server.settle()
  const { durable } = rename('mine')
  await server.clock.advance(1_000)
  await server.clock.until(client.close())
  await expect(durable).rejects.toMatchObject({ name: 'StorageError', code: 'aborted' })
})

test('invariant 33: a write that is sent from memory, and gets no answer, is stored once the store takes writes again', async () => {
  const { server, device, client, store, is, rename } = await onStoreThat(aborts)
  server.wrong(503, { endpoint: 'tx', times: Number.POSITIVE_INFINITY })
  const tx = rename('mine')
  await server.clock.advance(1_000)
  is.refusing = false
  await server.clock.until(tx.durable)
  device.disconnect()
  await server.clock.until(client.close())
  const again = device.client({ identity: 'ada', store })
  await again.start()
  expect(again.outbox.list().map(({ id }) => id)).toEqual([tx.id])
})

test('a write that is sent from memory, and gets no answer, fails with the store’s error when the client closes', async () => {
  const { server, client, rename } = await onStoreThat(aborts)
  server.wrong(503, { endpoint: 'tx', times: Number.POSITIVE_INFINITY })
  const tx = rename('mine')
  const durable = expect(tx.durable).rejects.toMatchObject({ name: 'StorageError', code: 'aborted' })
  await server.clock.advance(1_000)
  await server.clock.until(client.close())
  await durable
})

test('a write that the store removed late does not come back after a reload', async () => {
  const { server, device, client, store, is, rename, stored } = await onStoreThat(aborts)
  is.refusing = false
  const tx = rename('mine')
  await server.clock.until(tx.durable)
  is.refusing = true
  await server.clock.advance(3_000)
  is.refusing = false
  await server.write([{ op: 'u', t: 'Item', id: 'i1', p: { title: 'theirs' } }])
  await server.clock.advance(120_000)
  device.disconnect()
  await server.clock.until(client.close())
  const again = device.client({ identity: 'ada', store })
  await again.start()
  expect(again.outbox.list()).toEqual([])
  expect(again.get('Item', 'i1')?.title).toBe('theirs')
  expect(await stored()).toBe('theirs')
})
