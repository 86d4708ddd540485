import { expect, test } from 'vitest'
import { type BareOptions, mockSyncServer } from '../../src/testing/index.ts'

type Fields = { readonly [field: string]: unknown }

/** A server without the extensions that has one note, and a client of Ada's that is in step with it. */
async function scene(bare: BareOptions) {
  const server = mockSyncServer({ latencyMs: 10, bare })
  await server.write([{ op: 'i', t: 'Note', id: '1', p: { title: 'Milk' } }], 'ada')
  const client = server.device().client({ identity: 'ada', pollInterval: 5_000 })
  await client.start()
  await server.clock.advance(2_000)
  const rows = async (): Promise<{ readonly [id: string]: Fields }> => {
    const all = await server.rows('ada')
    return Object.fromEntries(all.map(({ id, p: { userId: _, ...fields } }) => [id, fields]))
  }
  return { server, client, rows, wait: (ms: number) => server.clock.advance(ms) }
}

test('the undo of a put restores what a push had shown and the delta then left out', async () => {
  const { server, client, rows, wait } = await scene({})
  await server.write([{ op: 'u', t: 'Note', id: '1', p: { title: 'Theirs' } }])
  await wait(50)
  expect(client.get('Note', '1')).toMatchObject({ title: 'Theirs' })
  const put = client.mutate((m) => m.put('Note', { id: '1', title: 'Mine' }))
  await server.clock.until(put.synced)
  await server.clock.until(client.undo())
  await wait(10_000)
  expect(await rows()).toEqual({ 1: { title: 'Theirs' } })
  await server.close()
})

test('the undo of a removal restores what a push had shown and the delta then left out', async () => {
  const { server, client, rows, wait } = await scene({ pushes: 'frame' })
  await server.write([{ op: 'u', t: 'Note', id: '1', p: { title: 'Theirs' } }])
  await wait(50)
  const removal = client.mutate((m) => m.delete('Note', '1'))
  await server.clock.until(removal.synced)
  await server.clock.until(client.undo())
  await wait(10_000)
  expect(await rows()).toEqual({ 1: { title: 'Theirs' } })
  await server.close()
})

test('the undo of a put restores what its user had written just before, which the delta leaves out', async () => {
  const { server, client, rows, wait } = await scene({ socket: false })
  client.mutate((m) => m.update('Note', '1', { title: 'Mine' }))
  const put = client.mutate((m) => m.put('Note', { id: '1', title: 'Other' }))
  await server.clock.until(put.synced)
  await server.clock.until(client.undo())
  await wait(10_000)
  expect(await rows()).toEqual({ 1: { title: 'Mine' } })
  await server.close()
})

test.each<[string, BareOptions]>([
  ['pushes', {}],
  ['polling', { socket: false }],
])(
  'the undo of an insert removes the record, also if its user had removed it just before: %s',
  async (_, bare) => {
    const { server, client, rows, wait } = await scene(bare)
    server.hold()
    await server.clock.until(client.mutate((m) => m.delete('Note', '1')).accepted)
    const insert = client.mutate((m) => m.insert('Note', { id: '1', title: 'Again' }))
    await server.clock.until(insert.accepted)
    server.release()
    await server.clock.until(insert.synced)
    await server.clock.until(client.undo())
    await wait(10_000)
    expect(await rows()).toEqual({})
    await server.close()
  },
)

test('an undo that somebody else has overtaken is sent once before the data shows the change', async () => {
  const { server, client, rows, wait } = await scene({ socket: false })
  const renamed = client.mutate((m) => m.update('Note', '1', { title: 'Mine' }))
  await server.clock.until(renamed.synced)
  await server.write([{ op: 'u', t: 'Note', id: '1', p: { n: 1 } }])
  const { length } = server.requests
  const undoing = (await server.clock.until(client.undo())) && client.outbox.list()
  await wait(10_000)
  const sent = server.requests.slice(length).filter(({ endpoint }) => endpoint === 'tx')
  expect(undoing).toHaveLength(1)
  expect(sent).toHaveLength(2)
  expect(await rows()).toEqual({ 1: { title: 'Milk', n: 1 } })
  await server.close()
})

test('a removal that changed nothing is not undone, though only rows come, which do not show removals', async () => {
  const { server, client, rows, wait } = await scene({ deltas: 'rows', pushes: 'sid' })
  await server.write([{ op: 'd', t: 'Note', id: '1' }])
  await wait(2_000)
  expect(client.get('Note', '1')).toMatchObject({ title: 'Milk' })
  const removal = client.mutate((m) => m.delete('Note', '1'))
  await server.clock.until(removal.synced)
  expect(await server.clock.until(client.undo())).toBe(false)
  await wait(10_000)
  expect(await rows()).toEqual({})
  expect(client.get('Note', '1')).toBeUndefined()
  await server.close()
})

test.each(['an undo', 'an update'])(
  '%s that the server refuses because the record is gone lets the record go here, though only rows come',
  async (what) => {
    const { server, client, rows, wait } = await scene({ deltas: 'rows', pushes: 'rows' })
    await server.clock.until(client.mutate((m) => m.update('Note', '1', { title: 'Mine' })).synced)
    await server.write([{ op: 'd', t: 'Note', id: '1' }])
    await wait(2_000)
    expect(client.get('Note', '1')).toMatchObject({ title: 'Mine' })
    if (what === 'an undo') expect(await server.clock.until(client.undo())).toBe(true)
    else client.mutate((m) => m.update('Note', '1', { title: 'Again' }))
    await wait(10_000)
    expect(client.get('Note', '1')).toBeUndefined()
    const reasons = client.outbox.list().map(({ rejection }) => rejection?.reason)
    expect(reasons).toEqual(what === 'an undo' ? [] : ['not_found'])
    expect(await rows()).toEqual({})
    await server.close()
  },
)

test('the undo of a put restores what rows had shown when it was made, also while an earlier write is under way', async () => {
  const { server, client, rows, wait } = await scene({ deltas: 'rows', pushes: 'rows' })
  client.mutate((m) => m.update('Note', '1', { title: 'Mine' }))
  await server.write([{ op: 'u', t: 'Note', id: '1', p: { n: 1 } }])
  await wait(200)
  expect(client.get('Note', '1')).toMatchObject({ title: 'Mine', n: 1 })
  const put = client.mutate((m) => m.put('Note', { id: '1', title: 'Other' }))
  await server.clock.until(put.synced)
  await server.clock.until(client.undo())
  await wait(10_000)
  expect(await rows()).toEqual({ 1: { title: 'Mine', n: 1 } })
  await server.close()
})

test('what was written after an undo and its redo is sent, also if somebody else has overtaken both', async () => {
  const { server, client, rows, wait } = await scene({})
  await server.clock.until(client.mutate((m) => m.update('Note', '1', { title: 'Mine' })).synced)
  await wait(1_000)
  server.hold()
  await server.write([{ op: 'u', t: 'Note', id: '1', p: { title: 'Theirs' } }])
  await server.clock.until(client.undo())
  await server.clock.until(client.redo())
  await wait(1)
  expect(client.outbox.list()).toHaveLength(2)
  const last = client.mutate((m) => m.insert('Note', { id: '2', title: 'Last' }))
  await wait(1_000)
  server.release()
  await wait(4_000)
  expect(last.state).toBe('synced')
  expect(await rows()).toEqual({ 1: { title: 'Theirs' }, 2: { title: 'Last' } })
  await server.close()
})
