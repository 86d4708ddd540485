import type { SyncClient } from 'instep'
import { expect, test } from 'vitest'
import { browser, idsIn } from './browser.ts'

/** Two tabs that hear nothing of each other, at a server without the extensions. The second one leads. */
async function scene(bare: Parameters<typeof browser>[0]) {
  const world = await browser({ hasChannel: false, ...bare })
  const { server } = world
  const first = await world.open()
  const second = await world.open()
  await server.clock.advance(5_000)
  return { ...world, first, second, ids: async () => (await server.rows('ada')).map(({ id }) => id) }
}

type Body = Parameters<SyncClient['mutate']>[0]

const remove: Body = (m) => m.delete('Item', 'i0')

test.each([false, true])(
  'the undo of a removal is sent by a tab that still shows the record, because only rows come; the record is back: %s',
  async (isBack) => {
    const { server, device, first, second, front, ids } = await scene({
      bare: { deltas: 'rows', pushes: 'rows' },
    })
    await server.clock.until(second.client.mutate(remove).synced)
    await server.clock.advance(5_000)
    expect([idsIn(first), idsIn(second)]).toEqual([['i0'], []])
    device.disconnect()
    await server.clock.advance(5_000)
    await server.clock.until(second.client.undo())
    await server.clock.advance(1_000)
    second.leave()
    if (isBack) await server.write([{ op: 'i', t: 'Item', id: 'i0', p: {} }], 'ada')
    device.reconnect()
    await front(first)
    await server.clock.advance(60_000)
    expect(await ids()).toEqual(['i0'])
    expect(first.client.outbox.list()).toEqual([])
    await server.close()
  },
)

test('the undo of a removal that changed nothing is not sent by a tab that knows so', async () => {
  const { server, first, second, front, ids } = await scene({ bare: { tx: true } })
  await server.clock.until(first.client.mutate((m) => m.insert('Item', { id: 'i1' })).synced)
  await server.clock.advance(5_000)
  await server.clock.until(second.client.stop())
  await server.write([{ op: 'd', t: 'Item', id: 'i0' }])
  const removal = second.client.mutate(remove)
  await server.clock.until(removal.durable)
  await front(first)
  await server.clock.advance(5_000)
  await server.clock.until(removal.undo())
  await front(first)
  await server.clock.advance(5_000)
  expect(await ids()).toEqual(['i1'])
  await server.close()
})

test.each<[string, Body]>([
  ['a removal', remove],
  ['an update', (m) => m.update('Item', 'i0', { n: 2 })],
])('the undo of %s is sent by a tab whose data does not have that yet', async (_, write) => {
  const { server, first, second, ids } = await scene({ bare: { socket: false } })
  await server.write([{ op: 'u', t: 'Item', id: 'i0', p: { n: 1 } }])
  await server.clock.until(second.client.sync())
  await server.clock.until(first.client.sync())
  await server.clock.until(second.client.mutate(write).synced)
  await server.clock.until(second.client.stop())
  await server.clock.until(second.client.undo())
  expect(first.client.get('Item', 'i0')).toMatchObject({ n: 1 })
  first.client.mutate((m) => m.insert('Item', { id: 'i1' }))
  await server.clock.advance(1_000)
  expect(await ids()).toEqual(['i0', 'i1'])
  const [row] = await server.rows('ada')
  expect(row?.p).toMatchObject({ n: 1 })
  await server.close()
})
