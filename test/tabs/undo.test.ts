import { expect, test } from 'vitest'
import { browser } from './browser.ts'

test('an undo of a write whose rejection its tab has not heard of yet blocks no later write', async () => {
  const late: { carry?: (deliver: () => void) => void } = {}
  const { server, open } = await browser({
    carry: (deliver) => (late.carry ? late.carry(deliver) : void Promise.resolve().then(deliver)),
  })
  const [first, second] = [await open(), await open()]
  late.carry = (deliver) => void server.clock.after(50, deliver)
  await server.write([{ op: 'u', t: 'Item', id: 'i0', p: { note: 'theirs' } }])
  const refused = first.client.mutate((m) => m.update('Item', 'i0', { title: 'mine' }, { ifUnchanged: true }))
  await server.clock.advance(110)
  const [here, there] = [refused.state, second.client.outbox.get(refused.id)?.state]
  expect([here, there]).toEqual(['queued', 'rejected'])
  await server.clock.until(refused.undo())
  await server.clock.advance(1_000)
  second.client.mutate((m) => m.insert('Item', { id: 'later' }))
  await server.clock.advance(60_000)
  expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['i0', 'later'])
  expect(second.client.outbox.list().map(({ id }) => id)).toEqual([refused.id])
  await server.close()
})
