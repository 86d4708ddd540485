import { createCollection, createTransaction } from '@tanstack/db'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { instepCollectionOptions, instepMutationFn } from '../../src/tanstack-db/index.ts'
import { FaultyStore } from '../support/store-faults.ts'
import { withSteps } from '../support/store-steps.ts'
import { backend, type Client, clientOf, issuesOf, listen, type Server, titles } from './scene.ts'

let server: Server
let client: Client
let issues: ReturnType<typeof issuesOf>

beforeEach(async () => {
  server = await backend()
  client = await clientOf(server)
  issues = issuesOf(client)
})
afterEach(() => server.close())

const lamp = { id: 'i3', title: 'Lamp out', projectId: 'p1' }
/** The bodies that arrived, without what differs from run to run. */
const sent = () =>
  server.requests
    .filter(({ endpoint }) => endpoint === 'tx')
    .map(({ body }) => (body as { txs: { ops: object[] }[] }).txs.map(({ ops }) => ops))
const titleOf = async (id: string) => (await server.rows('ada')).find((row) => row.id === id)?.p.title

test('inserts, updates and deletes are shown at once, and reach the server', async () => {
  issues.insert(lamp)
  issues.update('i1', (draft) => {
    draft.title = 'Cable mended'
  })
  issues.delete('i2')
  expect(titles(issues)).toEqual({ i1: 'Cable mended', i3: 'Lamp out' })
  expect(client.get('Issue', 'i3')?.title).toBe('Lamp out')

  await server.settle()
  expect(titles(issues)).toEqual({ i1: 'Cable mended', i3: 'Lamp out' })
  expect((await server.rows('ada')).map(({ id }) => id).sort()).toEqual(['i1', 'i3', 'p1'])
  expect(sent().flat(2)).toEqual([
    { op: 'i', t: 'Issue', id: 'i3', p: { title: 'Lamp out', projectId: 'p1' } },
    { op: 'u', t: 'Issue', id: 'i1', p: { title: 'Cable mended' } },
    { op: 'd', t: 'Issue', id: 'i2' },
  ])
})

test('the writes of one call are one transaction', async () => {
  issues.update(['i1', 'i2'], (drafts) => {
    for (const draft of drafts) draft.projectId = 'p2'
  })
  await server.settle()
  expect(sent()).toMatchObject([[[{ id: 'i1' }, { id: 'i2' }]]])
})

test('it has settled when it is durable, also offline, and is sent when there is a network again', async () => {
  const store = memoryStore()
  const before = await clientOf(server, store)
  server.down()
  const own = issuesOf(before)
  const tx = own.insert(lamp)
  await server.clock.until(tx.when('settled'))
  await server.clock.until(before.close())

  const after = server.client({ identity: 'ada', store })
  await after.start()
  const again = createCollection(instepCollectionOptions({ client: after, type: 'Issue' }))
  await again.preload()
  expect(again.get('i3')?.title).toBe('Lamp out')
  expect(await titleOf('i3')).toBeUndefined()
  server.up()
  await server.settle()
  expect(await titleOf('i3')).toBe('Lamp out')
  expect(again.get('i3')?.title).toBe('Lamp out')
})

test('nothing flickers: not while it is stored, sent, answered or echoed, nor by what comes between', async () => {
  let open = () => {}
  let gate: Promise<void> | undefined
  const slow = withSteps(memoryStore(), { awaited: () => gate, immediate: () => {} })
  const own = issuesOf(await clientOf(server, slow))
  const told = listen(own)
  gate = new Promise((resolve) => {
    open = resolve
  })
  const first = own.insert(lamp)
  const second = own.update('i1', (draft) => {
    draft.title = 'Cable'
  })
  const third = own.update('i1', (draft) => {
    draft.title = 'Cable mended'
  })
  await server.write([{ op: 'u', t: 'Issue', id: 'i1', p: { estimate: 5 } }])
  await server.clock.advance(100)
  expect(titles(own)).toEqual({ i1: 'Cable mended', i2: 'Door stuck', i3: 'Lamp out' })
  open()
  gate = undefined
  await server.clock.until(Promise.all([first, second, third].map((tx) => tx.when('settled'))))
  await server.settle()
  expect(own.get('i1')).toMatchObject({ title: 'Cable mended', estimate: 5 })
  const values = (id: string) => [...new Set(told.filter((line) => line.includes(id)))]
  expect(values('i1')).toEqual(['update i1 Cable', 'update i1 Cable mended'])
  expect(values('i3')).toEqual(['insert i3 Lamp out', 'update i3 Lamp out'])
})

test('a row that has settled is the client’s, and not the optimistic one, with nothing from the server', async () => {
  server.down()
  await server.settle()
  const tx = issues.update('i1', (draft) => {
    delete draft.estimate
  })
  expect(issues.get('i1')?.$synced).toBe(false)
  await server.clock.until(tx.when('settled'))
  expect(issues.get('i1')?.$synced).toBe(true)
  expect(issues.get('i1')).not.toHaveProperty('estimate')
  await server.clock.until(issues.insert(lamp).when('settled'))
  expect(issues.get('i3')?.$synced).toBe(true)
})

test('a record that is deleted, and inserted again before that is stored, is there as it was inserted', async () => {
  let open = () => {}
  let gate: Promise<void> | undefined
  const slow = withSteps(memoryStore(), { awaited: () => gate, immediate: () => {} })
  const own = issuesOf(await clientOf(server, slow))
  gate = new Promise((resolve) => {
    open = resolve
  })
  server.down()
  const first = own.delete('i2')
  await undefined
  const second = own.insert({ id: 'i2', title: 'Door mended', projectId: 'p1' })
  await server.clock.advance(100)
  open()
  gate = undefined
  await server.clock.until(Promise.all([first, second].map((tx) => tx.when('settled'))))
  expect(own.get('i2')?.title).toBe('Door mended')
  expect(own.get('i2')?.$synced).toBe(true)
  server.up()
  await server.settle()
  expect(titles(own)).toEqual({ i1: 'Cable cut', i2: 'Door mended' })
})

test('a record that the query does not give goes as soon as it is written', async () => {
  server.down()
  const query = { where: { projectId: 'p1' } }
  const some = createCollection(instepCollectionOptions({ client, type: 'Issue', query }))
  await some.preload()
  const tx = some.insert({ ...lamp, projectId: 'p2' })
  expect(some.has('i3')).toBe(true)
  await server.clock.until(tx.when('settled'))
  expect(some.has('i3')).toBe(false)
  expect(issues.has('i3')).toBe(true)
})

test('a write that breaks its model is undone, and its transaction fails with the reason', async () => {
  const tx = issues.insert({ ...lamp, title: 7 as never })
  await expect(tx.when('settled')).rejects.toMatchObject({ name: 'ValidationError' })
  expect(titles(issues)).toEqual({ i1: 'Cable cut', i2: 'Door stuck' })
  expect(client.outbox.list()).toEqual([])
})

test('a write that can be neither stored nor sent stays shown, and settles once the disk takes it', async () => {
  const faulty = new FaultyStore(memoryStore())
  const own = issuesOf(await clientOf(server, faulty.store))
  server.down()
  await server.clock.advance(30_000)
  faulty.arm(0, 'throw')
  const tx = own.insert(lamp)
  await server.clock.advance(1_000)
  expect(own.has('i3')).toBe(true)
  expect(tx.state).toBe('persisting')
  await server.clock.until(tx.when('settled'))
  expect(own.has('i3')).toBe(true)
})

test('a rejected write is removed from the collection, and kept in the outbox', async () => {
  server.reject('forbidden')
  const tx = issues.update('i1', { metadata: { label: 'Rename' } }, (draft) => {
    draft.title = 'Mine'
  })
  await server.clock.until(tx.when('settled'))
  await server.settle()
  expect(titles(issues)).toEqual({ i1: 'Cable cut', i2: 'Door stuck' })
  const [rejected] = client.outbox.list({ state: 'rejected' })
  expect([rejected?.label, rejected?.rejection?.reason]).toEqual(['Rename', 'forbidden'])
  expect(rejected?.records[0]).toMatchObject({ mine: { title: 'Mine' }, theirs: { title: 'Cable cut' } })
})

test('the writes of one group are undone together', async () => {
  for (const title of ['Cable c', 'Cable cu']) {
    issues.update('i1', { metadata: { group: 'typing' } }, (draft) => {
      draft.title = title
    })
  }
  await server.settle()
  await server.clock.until(client.undo())
  expect([titles(issues), client.canUndo]).toEqual([{ i1: 'Cable cut', i2: 'Door stuck' }, false])
})

test('the label of the first change counts, before that of the transaction', async () => {
  const tx = createTransaction({ mutationFn: instepMutationFn, metadata: { label: 'Close down' } })
  tx.mutate(() => {
    issues.update('i1', { metadata: { label: 'Rename' } }, (draft) => {
      draft.title = 'Cable'
    })
    issues.delete('i2', { metadata: { label: 'Delete' } })
  })
  await tx.isPersisted.promise
  expect(client.outbox.list().map(({ label }) => label)).toEqual(['Rename'])
})

test('a label or group that is not a string is ignored', async () => {
  for (const title of ['Cable c', 'Cable cu']) {
    issues.update('i1', { metadata: { label: 7, group: 7 } }, (draft) => {
      draft.title = title
    })
  }
  expect(client.outbox.list().map(({ label }) => label)).toEqual([undefined, undefined])
  await server.settle()
  await server.clock.until(client.undo())
  expect(titles(issues)).toMatchObject({ i1: 'Cable c' })
})

test('a field that is deleted is gone on the server too', async () => {
  issues.update('i1', (draft) => {
    delete draft.estimate
  })
  expect(client.get('Issue', 'i1')).not.toHaveProperty('estimate')
  await server.settle()
  expect((await server.rows('ada')).find(({ id }) => id === 'i1')?.p).not.toHaveProperty('estimate')
  expect(issues.get('i1')).not.toHaveProperty('estimate')
})

test('a field that is deleted of a record that has gone meanwhile does not bring that back', async () => {
  const tx = createTransaction({ mutationFn: instepMutationFn, autoCommit: false })
  tx.mutate(() =>
    issues.update('i1', (draft) => {
      delete draft.estimate
    }),
  )
  await server.write([{ op: 'd', t: 'Issue', id: 'i1' }])
  await server.settle()
  await expect(tx.commit()).rejects.toMatchObject({ name: 'ValidationError', field: 'id' })
  expect([client.get('Issue', 'i1'), client.outbox.list()]).toEqual([undefined, []])
})

test('a row that was read can be inserted under another id', async () => {
  const row = issues.get('i2')
  if (!row) throw new Error('There is no row.')
  issues.insert({ ...row, id: 'i4' })
  expect(Object.keys(client.get('Issue', 'i4') ?? {}).sort()).toEqual(['id', 'projectId', 'title', 'userId'])
  await server.settle()
  expect(await titleOf('i4')).toBe('Door stuck')
})

test('a row that was read can be assigned to a draft, and be put in place of itself', async () => {
  const [cable, door] = issues.toArray
  if (!cable || !door) throw new Error('There are no rows.')
  issues.update('i1', (draft) => {
    Object.assign(draft, { ...cable, title: 'Cable mended' })
  })
  const again = createTransaction({ mutationFn: instepMutationFn })
  again.mutate(() => {
    issues.delete('i2')
    issues.insert({ ...door, projectId: 'p2' })
  })
  await server.settle()
  expect(sent().flat(2)).toEqual([
    { op: 'u', t: 'Issue', id: 'i1', p: { title: 'Cable mended' } },
    { op: 'u', t: 'Issue', id: 'i2', p: { projectId: 'p2' } },
  ])
})

describe('a transaction over several collections', () => {
  const projectsOf = (of: Client) =>
    createCollection(instepCollectionOptions({ client: of, type: 'Project' }))

  test('is one transaction of the client', async () => {
    const projects = projectsOf(client)
    const tx = createTransaction({ mutationFn: instepMutationFn, metadata: { label: 'Close down' } })
    tx.mutate(() => {
      issues.delete(['i1', 'i2'])
      projects.update('p1', (draft) => {
        draft.name = 'Ruin'
      })
    })
    expect(client.outbox.list().map(({ label }) => label)).toEqual(['Close down'])
    await server.settle()
    expect(sent()).toMatchObject([
      [[{ op: 'd' }, { op: 'd' }, { op: 'u', t: 'Project', p: { name: 'Ruin' } }]],
    ])
    expect([issues.size, projects.get('p1')?.name]).toEqual([0, 'Ruin'])
  })

  test('fails as a whole', async () => {
    const projects = projectsOf(client)
    const tx = createTransaction({ mutationFn: instepMutationFn })
    tx.mutate(() => {
      issues.delete('i1')
      projects.update('p1', (draft) => {
        draft.name = 7 as never
      })
    })
    await expect(tx.when('settled')).rejects.toMatchObject({ name: 'ValidationError' })
    expect([issues.size, projects.get('p1')?.name]).toEqual([2, 'House'])
  })

  test('is refused if they belong to two clients, or to none', async () => {
    const others = issuesOf(await clientOf(server))
    const local = createCollection<{ id: string }, string>({
      getKey: ({ id }) => id,
      sync: { sync: () => {} },
    })
    for (const other of [() => others.delete('i2'), () => local.insert({ id: '1' })]) {
      const tx = createTransaction({ mutationFn: instepMutationFn })
      tx.mutate(() => {
        issues.delete('i1')
        other()
      })
      await expect(tx.when('settled')).rejects.toMatchObject({ name: 'ConfigurationError' })
      expect(issues.size).toBe(2)
    }
  })
})
