import { memoryStore, type SyncClientOptions, standardTxCodec, type TxCodec, type TxOp } from 'instep'
import { describe, expect, test } from 'vitest'
import { ownServer } from '../support/own-server.ts'
import { at, failure, inStep } from '../support/test-backend.ts'

const old = { title: 'old', note: 'n' }

/** One record, a client of Ada's that shows it, and somebody else who writes it as the service. */
async function oneItem(options: Pick<SyncClientOptions, 'transactionCodec' | 'store'> = {}) {
  const server = ownServer()
  await server.write([{ op: 'i', t: 'Item', id: 'i1', p: old }], 'ada')
  const device = server.device()
  const client = device.client({ identity: 'ada', store: memoryStore(), ...options })
  await client.start()
  await server.settle()
  return {
    server,
    device,
    client,
    rename: (title: string) => client.mutate((m) => m.update('Item', 'i1', { title })),
    remove: () => client.mutate((m) => m.delete('Item', 'i1')),
    others: (p: { readonly [field: string]: string }) => server.write([{ op: 'u', t: 'Item', id: 'i1', p }]),
    othersRemove: () => server.write([{ op: 'd', t: 'Item', id: 'i1' }]),
    /** The fields at the server, without whose they are; nothing where the record is gone. */
    stored: async () => {
      const { userId: _, ...fields } = (await server.rows('ada')).find(({ id }) => id === 'i1')?.p ?? {}
      return fields
    },
    /** Connects the device again, and waits until all is sent. */
    back: async () => {
      device.reconnect()
      await server.settle()
    },
    inbox: () => client.outbox.list({ state: 'rejected' }).map(({ rejection }) => rejection?.reason),
  }
}

/** As of a server that knows neither `unchangedSince` nor `was`. */
const withoutConditions: TxCodec = {
  ...standardTxCodec,
  encode: (txs) =>
    standardTxCodec.encode(
      txs.map((tx) => ({
        ...tx,
        ops: tx.ops.map((op) => ({ ...op, unchangedSince: undefined, was: undefined })),
      })),
    ),
}

const posts = (server: ReturnType<typeof ownServer>) =>
  server.requests.filter(({ endpoint }) => endpoint === 'tx').length

describe.each([0, 50, 3_000])('a write that is undone offline, %i ms later,', (undoneAfter) => {
  async function undoneOffline(write: 'rename' | 'remove') {
    const scene = await oneItem()
    const { server, device } = scene
    device.disconnect()
    await server.clock.advance(1_000)
    const tx = write === 'rename' ? scene.rename('mine') : scene.remove()
    await server.clock.advance(undoneAfter)
    await server.clock.until(tx.undo())
    return { ...scene, tx }
  }

  test('keeps changes of others', async () => {
    const { others, stored, back } = await undoneOffline('rename')
    await others({ title: 'theirs', note: 'long work' })
    await back()
    expect(await stored()).toEqual({ title: 'theirs', note: 'long work' })
  })

  test('invariant 74: never reaches the server', async () => {
    const { server, tx, back } = await undoneOffline('rename')
    await back()
    expect(tx.state).toBe('cancelled')
    expect(posts(server)).toBe(0)
  })

  test('keeps a record that it would remove if somebody else changes it', async () => {
    const { others, stored, back } = await undoneOffline('remove')
    await others({ title: 'theirs' })
    await back()
    expect(await stored()).toEqual({ title: 'theirs', note: 'n' })
  })

  test('leaves nothing in the inbox if somebody else removes the record', async () => {
    const { othersRemove, inbox, back } = await undoneOffline('rename')
    await othersRemove()
    await back()
    expect(inbox()).toEqual([])
  })
})

test('a write that was made offline before a restart, and undone after it, never reaches the server', async () => {
  const { server, device, back } = await oneItem()
  const store = memoryStore()
  const before = device.client({ identity: 'ada', store })
  await before.start()
  await server.settle()
  device.disconnect()
  await server.clock.advance(1_000)
  const tx = before.mutate((m) => m.update('Item', 'i1', { title: 'mine' }))
  await server.clock.until(tx.durable)
  await server.clock.until(before.close())
  const after = device.client({ identity: 'ada', store })
  await after.start()
  await server.clock.advance(60_000)
  await server.clock.until(after.outbox.get(tx.id)?.undo() ?? Promise.reject(new Error('It is gone.')))
  await back()
  expect(posts(server)).toBe(0)
})

test('no transaction counts as sent while there is no token', async () => {
  const server = ownServer()
  let token = Promise.resolve(server.token('ada'))
  const client = server.client({ identity: 'ada', store: memoryStore(), token: () => token })
  await client.start()
  await server.settle()
  token = new Promise(() => {})
  const tx = client.mutate((m) => m.insert('Item', { id: 'i1' }))
  await server.clock.advance(1_000)
  await server.clock.until(tx.undo())
  expect(tx.state).toBe('cancelled')
})

describe('undo', () => {
  test('invariant 74: restores changes of others from before the write arrived', async () => {
    const { server, device, client, rename, others, stored, back } = await oneItem()
    device.disconnect()
    const tx = rename('mine')
    await server.clock.until(tx.durable)
    await others({ title: 'theirs' })
    await back()
    expect((await stored()).title).toBe('mine')
    await server.clock.until(client.undo())
    await server.settle()
    expect((await stored()).title).toBe('theirs')
  })

  test('invariant 74: brings a removed record back with changes of others from before the removal arrived', async () => {
    const { server, device, client, remove, others, stored, back } = await oneItem()
    device.disconnect()
    await server.clock.until(remove().durable)
    await others({ note: 'theirs' })
    await back()
    await server.clock.until(client.undo())
    await server.settle()
    expect(await stored()).toEqual({ title: 'old', note: 'theirs' })
  })

  async function undoneOfflineAfterAnotherWrite(transactionCodec: TxCodec) {
    const { server, device, client, rename, others, stored, back } = await oneItem({ transactionCodec })
    rename('mine')
    await server.settle()
    device.disconnect()
    await server.clock.advance(1_000)
    await server.clock.until(client.undo())
    await others({ title: 'theirs' })
    await back()
    const { title } = await stored()
    return title
  }

  test('invariant 74: leaves a field that somebody else has changed while the undo waited for a network', async () => {
    expect(await undoneOfflineAfterAnotherWrite(standardTxCodec)).toBe('theirs')
  })

  test('invariant 74: leaves that field even at a server without conditions', async () => {
    expect(await undoneOfflineAfterAnotherWrite(withoutConditions)).toBe('theirs')
  })

  test('invariant 74: leaves a field that somebody else changes while the undo is on its way', async () => {
    const { server, client, rename, others, stored } = await oneItem()
    rename('mine')
    await server.settle()
    server.hold()
    await others({ title: 'theirs' })
    await server.clock.until(client.undo())
    await server.clock.advance(5_000)
    server.release()
    await server.settle()
    expect((await stored()).title).toBe('theirs')
  })

  test('leaves nothing in the inbox if somebody else has removed the record', async () => {
    const { server, device, client, rename, othersRemove, stored, inbox, back } = await oneItem()
    rename('mine')
    await server.settle()
    device.disconnect()
    await server.clock.until(client.undo())
    await othersRemove()
    await back()
    expect(await stored()).toEqual({})
    expect(inbox()).toEqual([])
  })

  test('invariant 74: of an added record leaves it if somebody else has added a field', async () => {
    const { server, client, others, stored } = await oneItem()
    client.mutate((m) => m.put('Item', { id: 'i1', title: 'old', note: 'n', mine: 1 }))
    await server.settle()
    client.mutate((m) => m.insert('Item', { id: 'i2', title: 'added' }))
    await server.settle()
    await server.write([{ op: 'u', t: 'Item', id: 'i2', p: { theirs: 1 } }])
    await server.settle()
    await server.clock.until(client.undo())
    await server.settle()
    expect((await server.rows('ada')).map(({ id }) => id)).toContain('i2')
    await others({})
    expect(await stored()).toMatchObject({ mine: 1 })
  })

  test('invariant 74: of an added record leaves it if somebody else adds a field while the undo is on its way', async () => {
    const { server, client } = await oneItem()
    client.mutate((m) => m.insert('Item', { id: 'i2', title: 'added' }))
    await server.settle()
    server.hold()
    await server.write([{ op: 'u', t: 'Item', id: 'i2', p: { theirs: 1 } }])
    await server.clock.until(client.undo())
    await server.clock.advance(5_000)
    server.release()
    await server.settle()
    expect(client.get('Item', 'i2')).toMatchObject({ title: 'added', theirs: 1 })
    expect((await server.rows('ada')).map(({ id }) => id)).toContain('i2')
  })
})

test('redo, while the undo is on its way and somebody else writes another field, restores the write', async () => {
  const { server, client, rename, others, stored } = await oneItem()
  rename('mine')
  await server.settle()
  server.late(2_000, { endpoint: 'delta', times: 9 })
  await others({ note: 'theirs' })
  const undone = client.undo()
  await server.clock.advance(1)
  await server.clock.until(Promise.all([undone, client.redo()]))
  await server.settle()
  expect(await stored()).toEqual({ title: 'mine', note: 'theirs' })
  expect(client.canUndo).toBe(true)
})

test('redo after an undo that a change of somebody else prevented leaves nothing in the inbox', async () => {
  const { server, client, rename, others, stored, inbox } = await oneItem()
  rename('mine')
  await server.clock.advance(50)
  await others({ title: 'theirs' })
  await server.clock.advance(1)
  const undone = client.undo()
  await server.clock.advance(1)
  await server.clock.until(Promise.all([undone, client.redo()]))
  await server.settle()
  expect(inbox()).toEqual([])
  expect((await stored()).title).toBe('theirs')
})

describe('redo of a write that was undone before it was sent', () => {
  async function undone(write: 'rename' | 'remove') {
    const scene = await oneItem()
    const { server, client } = scene
    await server.clock.until(client.stop())
    if (write === 'rename') scene.rename('mine')
    else scene.remove()
    await server.clock.until(client.undo())
    return scene
  }

  test('repeats the write if nobody has changed the record', async () => {
    const { server, client, stored } = await undone('rename')
    await client.start()
    await server.settle()
    await server.clock.until(client.redo())
    await server.settle()
    expect((await stored()).title).toBe('mine')
  })

  test('keeps changes of others from meanwhile', async () => {
    const { server, client, others, stored } = await undone('rename')
    await others({ title: 'theirs' })
    await client.start()
    await server.settle()
    await server.clock.until(client.redo())
    await server.settle()
    expect((await stored()).title).toBe('theirs')
  })

  test('invariant 74: does not bring back a record that somebody else has removed meanwhile', async () => {
    const { server, client, othersRemove, stored } = await undone('rename')
    await othersRemove()
    await client.start()
    await server.settle()
    await server.clock.until(client.redo())
    await server.settle()
    expect(await stored()).toEqual({})
  })

  test.each(['note', 'other'])(
    'does not remove a record of which somebody else has written the field `%s` meanwhile',
    async (field) => {
      const { server, client, others, stored } = await undone('remove')
      await others({ [field]: 'theirs' })
      await client.start()
      await server.settle()
      await server.clock.until(client.redo())
      await server.settle()
      expect(await stored()).toEqual({ ...old, [field]: 'theirs' })
    },
  )

  test('does not remove a record to which somebody else adds a field that arrives after the redo', async () => {
    const { server, client, others, stored } = await undone('remove')
    await others({ other: 'theirs' })
    await server.clock.until(client.redo())
    await client.start()
    await server.settle()
    expect(await stored()).toEqual({ ...old, other: 'theirs' })
  })

  test('keeps changes of others, even if they arrive after the redo', async () => {
    const { server, client, others, stored } = await undone('rename')
    await others({ title: 'theirs' })
    await server.clock.until(client.redo())
    await client.start()
    await server.settle()
    expect((await stored()).title).toBe('theirs')
  })
})

test('undo of a put restores the record, even if one delta brought the put and the write before it', async () => {
  const server = ownServer()
  await server.write([{ op: 'i', t: 'Item', id: 'i1', p: { title: 'old' } }], 'ada')
  server.never({ endpoint: 'ws', times: 99 })
  const client = server.device().client({ identity: 'ada', store: memoryStore() })
  await client.start()
  await server.clock.advance(1_000)
  client.mutate((m) => m.update('Item', 'i1', { note: 'mine' }))
  await server.clock.advance(100)
  client.mutate((m) => m.put('Item', { id: 'i1', title: 'new' }))
  await server.clock.advance(60_000)
  await server.clock.until(client.undo())
  await server.clock.advance(60_000)
  expect((await server.rows('ada')).map(({ p }) => p)).toMatchObject([{ title: 'old', note: 'mine' }])
})

/** What a server does that stores titles in capitals. */
const upper = (op: TxOp): TxOp =>
  op.op === 'u' && typeof op.p.title === 'string'
    ? { ...op, p: { ...op.p, title: op.p.title.toUpperCase() } }
    : op

test('an undo that is sent after a restart reverts what the server made of the written value', async () => {
  const server = ownServer({ prepare: upper })
  await server.write([{ op: 'i', t: 'Item', id: 'i1', p: { title: 'OLD' } }], 'ada')
  const device = server.device()
  const open = async () => {
    const client = device.client({ identity: 'ada', store })
    await server.clock.until(client.start())
    return client
  }
  const store = memoryStore()
  const first = await open()
  await server.settle()
  server.hold()
  server.late(5_000, { endpoint: 'delta', times: 9 })
  const tx = first.mutate((m) => m.update('Item', 'i1', { title: 'mine' }))
  await server.clock.until(tx.accepted)
  const undone = (await server.clock.until(tx.undo())) || undefined
  await server.clock.until(undone?.durable ?? Promise.reject(new Error('Nothing was undone.')))
  await server.clock.until(first.close())
  await open()
  server.release()
  await server.settle()
  expect((await server.rows('ada'))[0]?.p.title).toBe('OLD')
})

test('an undo that is sent after a restart does so, too, if its write was rejected and merged before', async () => {
  const merge: SyncClientOptions['merge'] = () => (m) => m.update('Note', '1', { title: 'mine' })
  const { backend, device, client } = await inStep({ 1: { title: 'OLD' } }, { merge }, { prepare: upper })
  backend.push = () => {}
  backend.intercept = at('tx', () => backend.wait(500).then(() => failure(422, 'invalid')))
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'mine' }))
  await backend.clock.advance(200)
  await tx.undo()
  // From the next request for transactions on, the data comes only after the restart.
  backend.intercept = at('tx', (_, pass) => {
    backend.intercept = at('delta', () => new Promise(() => {}))
    return pass()
  })
  await backend.clock.advance(20_000)
  expect(client.outbox.list().map(({ state }) => state)).toEqual(['accepted', 'queued'])
  backend.intercept = (_, pass) => pass()
  await device.restart({ merge })
  await backend.clock.advance(5_000)
  expect(await backend.rows()).toEqual({ 1: { title: 'OLD' } })
})

test('an undo that is sent after a restart does not overwrite what somebody else has set since', async () => {
  const options = { store: memoryStore(), transactionCodec: withoutConditions }
  const { server, device, client, rename, others } = await oneItem(options)
  rename('mine')
  await server.settle()
  device.disconnect()
  await server.clock.advance(1_000)
  await server.clock.until(client.undo())
  const { transactions } = await client.outbox.export()
  expect(transactions.map(({ isUndo }) => isUndo)).toEqual([true])
  await server.clock.until(client.close())
  await others({ title: 'theirs' })
  device.reconnect()
  await device.client({ identity: 'ada', ...options }).start()
  await server.settle()
  expect((await server.rows('ada'))[0]?.p.title).toBe('theirs')
  await server.close()
})
