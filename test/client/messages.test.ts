import { isSyncError, memoryStore, type SyncError } from 'instep'
import { mockSyncServer } from 'instep/testing'
import { expect, test } from 'vitest'
import * as z from 'zod'

const needed = z.string().check(z.minLength(1, 'is needed'))

async function started() {
  const server = mockSyncServer()
  const device = server.device()
  const models = { Note: z.object({ title: needed, text: needed, n: z.number() }) }
  const client = device.client({ identity: 'ada', models, store: { ...memoryStore(), kind: 'durable' } })
  await client.start()
  await server.settle()
  const add = () => client.mutate((m) => m.insert('Note', { title: 'a', text: 'b', n: 1 }))
  const refusal = async (options?: Parameters<typeof client.logout>[0]) => {
    const error: unknown = await server.clock.until(client.logout(options)).catch((thrown: unknown) => thrown)
    return isSyncError(error, 'PendingError') ? error.message : `${error}`
  }
  return { server, device, client, add, refusal }
}

function thrownBy(run: () => unknown): SyncError | undefined {
  try {
    run()
  } catch (error) {
    if (isSyncError(error)) return error
  }
  return undefined
}

test('a ValidationError lists every wrong field of an insert', async () => {
  const { server, client } = await started()
  const wrong = { title: '', text: '', n: 'one' } as never
  const error = thrownBy(() => client.mutate((m) => m.insert('Note', wrong)))
  expect(isSyncError(error, 'ValidationError') && error.issues.map(({ field }) => field)).toEqual([
    'title',
    'text',
    'n',
  ])
  expect(error).toMatchObject({ field: 'title', reason: 'is needed' })
  expect(error).toMatchObject({
    issues: [{ field: 'title', reason: 'is needed' }, { reason: 'is needed' }, {}],
  })
  await server.close()
})

test('a ValidationError lists every wrong field of an update', async () => {
  const { server, client, add } = await started()
  const [record] = add().records
  const error = thrownBy(() =>
    client.mutate((m) => m.update('Note', record?.id ?? '', { title: '', text: '' })),
  )
  expect(isSyncError(error, 'ValidationError') && error.issues.map(({ field }) => field)).toEqual([
    'title',
    'text',
  ])
  await server.close()
})

test('a ValidationError about one value lists that one', async () => {
  const { server, client } = await started()
  const error = thrownBy(() => client.mutate((m) => m.update('Note', 'none', {})))
  expect(isSyncError(error, 'ValidationError') && error.issues).toEqual([
    { field: 'id', reason: 'there is no record none to update; use insert or put' },
  ])
  await server.close()
})

test('`logout` with one unsent write says so in the singular, and asks for `pending`', async () => {
  const { server, device, add, refusal } = await started()
  device.disconnect()
  add()
  expect(await refusal()).toBe('1 transaction is unsent: pass `pending` to `logout` to keep or discard them.')
  add()
  expect(await refusal()).toMatch(/^2 transactions are unsent: /)
  await server.close()
})

test("`logout` with 'flush' while offline says that the client is offline, and does not ask for `pending`", async () => {
  const { server, device, add, refusal } = await started()
  device.disconnect()
  add()
  const message = await refusal({ pending: 'flush' })
  expect(message).toBe(
    "1 transaction is unsent: the client is offline; call `logout` with 'keep' or 'discard', or later.",
  )
  await server.close()
})

test("`logout` with 'flush' says when the server has rejected a write", async () => {
  const { server, add, refusal } = await started()
  server.reject('forbidden')
  add()
  const message = await refusal({ pending: 'flush' })
  expect(message).toBe(
    "1 rejected transaction waits for a decision: call `logout` with 'keep' or 'discard', or later.",
  )
  await server.close()
})

test('the message of a conflict names no position', async () => {
  const { server, client, add } = await started()
  const tx = add()
  await server.settle()
  const [record] = tx.records
  const id = record?.id ?? ''
  await server.write([{ op: 'u', t: 'Note', id, p: { n: 2 } }], 'ada')
  const second = client.mutate((m) => m.update('Note', id, { n: 3 }, { ifUnchanged: true }))
  await server.settle()
  expect(second.rejection?.reason).toBe('conflict')
  expect(second.rejection?.message).toBe(`The Note ${id} has changed meanwhile.`)
  await server.close()
})
