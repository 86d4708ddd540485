import { expect, test } from 'vitest'
import type { Prepare } from '../../src/server/index.ts'
import { ownServer } from '../support/own-server.ts'

const stamp: Prepare = (op, { before, caller, now }) => {
  if (op.op === 'd') return op
  const created = before ? {} : { author: caller.userId }
  return { ...op, p: { ...op.p, ...created, changedAt: now } }
}

test('a write shows at once as it was made, and then with the fields that the server set', async () => {
  const server = ownServer({ prepare: stamp })
  const client = server.client({ identity: 'ann' })
  client.start()
  await server.settle()
  client.mutate((m) => m.insert('Note', { id: '1', text: 'First.', author: 'mallory' }))
  expect(client.get('Note', '1')).toMatchObject({ text: 'First.', author: 'mallory' })
  await server.settle()
  expect(client.get('Note', '1')).toMatchObject({
    text: 'First.',
    author: 'ann',
    changedAt: expect.any(Number),
  })
})

test('an undo of a prepared write is prepared, too', async () => {
  const server = ownServer({ prepare: stamp })
  const client = server.client({ identity: 'ann' })
  client.start()
  client.mutate((m) => m.insert('Note', { id: '1', text: 'First.' }))
  await server.settle()
  const made = client.get('Note', '1')?.changedAt
  await server.clock.advance(1_000)
  client.mutate((m) => m.update('Note', '1', { text: 'Second.' }))
  await server.settle()
  client.undo()
  await server.settle()
  const [row] = await server.rows('ann')
  expect(row?.p).toMatchObject({ text: 'First.', author: 'ann' })
  expect(Number(row?.p.changedAt)).toBeGreaterThan(Number(made))
  expect(client.get('Note', '1')).toMatchObject(row?.p ?? {})
})
