import { memoryStore } from 'instep'
import { type MockSyncServer, mockSyncServer, type VirtualClock } from 'instep/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { taskList } from './tasks.ts'

let server: MockSyncServer<VirtualClock>

beforeEach(async () => {
  server = mockSyncServer()
  await server.write(
    [
      { op: 'i', t: 'Task', id: 't1', p: { title: 'Water the plants', done: false } },
      { op: 'i', t: 'Task', id: 't2', p: { title: 'Buy milk', done: false } },
      { op: 'i', t: 'Task', id: 't3', p: { title: 'Sleep', done: true } },
      { op: 'i', t: 'Task', id: 't4', p: { userId: 'bob', title: 'None of your business', done: false } },
    ],
    'ada',
  )
})

afterEach(() => server.close())

test('shows the open tasks of who is signed in, and what changes', async () => {
  const client = server.client({ identity: 'ada' })
  const tasks = taskList(client)
  const heard: string[] = []
  tasks.subscribe(() => heard.push(tasks.get().titles.join()))
  expect(tasks.get()).toEqual({ titles: [], notice: 'Loading…' })

  await client.start()
  await server.settle()
  expect(tasks.get()).toEqual({ titles: ['Buy milk', 'Water the plants'], notice: '' })

  await server.write([{ op: 'u', t: 'Task', id: 't2', p: { done: true } }])
  await server.settle()
  expect(heard.at(-1)).toBe('Water the plants')
})

test('shows a new task at once, and takes it back where the server refuses it', async () => {
  const client = server.client({ identity: 'ada' })
  const tasks = taskList(client)
  tasks.subscribe(() => {})
  await client.start()
  await server.settle()

  tasks.add('Answer Bob')
  expect(tasks.get().titles).toEqual(['Answer Bob', 'Buy milk', 'Water the plants'])
  await server.settle()
  expect((await server.rows('ada')).map(({ p }) => p.title)).toContain('Answer Bob')

  server.reject('forbidden')
  const refused = tasks.add('Fly')
  await server.settle()
  expect(refused.state).toBe('rejected')
  expect(tasks.get().titles).toEqual(['Answer Bob', 'Buy milk', 'Water the plants'])
})

test('goes on offline, after a restart too, and says so', async () => {
  const store = memoryStore()
  const before = server.client({ identity: 'ada', store })
  await before.start()
  await server.settle()
  await server.clock.until(before.close())

  server.down()
  const client = server.client({ identity: 'ada', store })
  const tasks = taskList(client)
  tasks.subscribe(() => {})
  await client.start()
  await server.settle()
  expect(tasks.get()).toEqual({
    titles: ['Buy milk', 'Water the plants'],
    notice: 'Offline: this is what was known last.',
  })

  server.up()
  await server.settle()
  expect(tasks.get().notice).toBe('')
})

test('asks to sign in again where the token has expired', async () => {
  const client = server.client({ identity: 'ada' })
  const tasks = taskList(client)
  tasks.subscribe(() => {})
  await client.start()
  await server.settle()

  server.expire('ada')
  await server.settle()
  expect(tasks.get().notice).toBe('Please sign in again.')

  client.resume(server.token('ada'))
  await server.settle()
  expect(tasks.get().notice).toBe('')
})
