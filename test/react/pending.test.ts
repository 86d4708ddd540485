import { expect, test } from 'vitest'
import { pendingSource } from '../../src/react/use-pending.ts'
import { ownServer } from '../support/own-server.ts'

const started = async () => {
  const server = ownServer()
  const client = server.client({ identity: 'ada' })
  await client.start()
  await server.settle()
  return { server, client, source: pendingSource(client) }
}

test('the lists of pending changes are the same objects until one changes', async () => {
  const { server, client, source } = await started()
  source.subscribe(() => {})
  server.down()
  client.mutate((m) => m.insert('Issue', { id: '1' }))
  const { pending, rejected } = source.get()
  expect([pending.length, rejected.length]).toEqual([1, 0])
  expect(source.get().pending).toBe(pending)
  expect(source.get().rejected).toBe(rejected)
  client.mutate((m) => m.insert('Issue', { id: '2' }))
  expect(source.get().pending).toHaveLength(2)
})

test('a change that was read as pending shows its rejection from before the subscription', async () => {
  const { server, client, source } = await started()
  server.reject('forbidden')
  client.mutate((m) => m.insert('Issue', { id: '1' }))
  expect(source.get().pending).toHaveLength(1)
  await server.settle()
  source.subscribe(() => {})
  const { pending, rejected } = source.get()
  expect([pending.length, rejected.length]).toEqual([0, 1])
})

test.each(['pending', 'rejected'] as const)(
  'a source that reads %s only shows changes between reading and subscribing',
  async (name) => {
    const { server, client, source } = await started()
    const before = source.get()
    expect(before[name]).toEqual([])
    server.reject('forbidden')
    client.mutate((m) => m.insert('Issue', { id: '1' }))
    if (name === 'rejected') await server.settle()
    source.subscribe(() => {})
    expect(source.get()[name]).toHaveLength(1)
  },
)
