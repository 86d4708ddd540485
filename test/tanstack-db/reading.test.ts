import { BasicIndex, createCollection, createLiveQueryCollection, eq } from '@tanstack/db'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isSyncError, memoryStore, model, SyncClient } from '../../src/index.ts'
import { instepCollectionOptions } from '../../src/tanstack-db/index.ts'
import { backend, clientOf, issuesOf, listen, models, type Server, titles } from './scene.ts'

let server: Server

beforeEach(async () => {
  server = await backend()
})
afterEach(() => server.close())

test('it follows changes from the server, and emits each once', async () => {
  const issues = issuesOf(await clientOf(server))
  const told = listen(issues)
  await server.write([
    { op: 'u', t: 'Issue', id: 'i1', p: { title: 'Cable mended' } },
    { op: 'd', t: 'Issue', id: 'i2' },
    { op: 'i', t: 'Issue', id: 'i3', p: { userId: 'ada', title: 'Lamp out', projectId: 'p1' } },
    { op: 'u', t: 'Project', id: 'p1', p: { name: 'Home' } },
  ])
  await server.settle()
  expect(titles(issues)).toEqual({ i1: 'Cable mended', i3: 'Lamp out' })
  expect(told.sort()).toEqual(['delete i2 -', 'insert i3 Lamp out', 'update i1 Cable mended'])
})

test("what a binding changes in place, as Solid's does, is not the client's", async () => {
  await server.write([{ op: 'u', t: 'Issue', id: 'i1', p: { labels: ['urgent'] } }])
  const client = await clientOf(server)
  const rows = createLiveQueryCollection((q) => q.from({ issue: issuesOf(client) }))
  for (const { labels } of await rows.toArrayWhenReady()) (labels as string[] | undefined)?.push('here')
  expect(rows.get('i1')?.labels).toEqual(['urgent', 'here'])
  expect(client.get('Issue', 'i1')?.labels).toEqual(['urgent'])
})

test('it is ready only when there is data', async () => {
  server.down()
  const client = await clientOf(server)
  const issues = issuesOf(client)
  const preloaded = issues.preload()
  expect(issues.status).toBe('loading')
  server.up()
  await server.settle()
  await preloaded
  expect(issues.status).toBe('ready')
  expect(issues.size).toBe(2)
})

test('waiting for data fails if the client is closed before', async () => {
  server.down()
  const client = await clientOf(server)
  const preloaded = issuesOf(client).preload()
  const failed = expect(preloaded).rejects.toSatisfy((error) => isSyncError(error, 'ClosedError'))
  await server.clock.until(client.close())
  await failed
})

test('a new snapshot changes only what is different', async () => {
  const issues = issuesOf(await clientOf(server))
  const told = listen(issues)
  await server.restore(
    [
      { op: 'i', t: 'Issue', id: 'i1', p: { title: 'Cable cut', projectId: 'p1', estimate: 1 } },
      { op: 'i', t: 'Issue', id: 'i9', p: { title: 'Roof leaks', projectId: 'p1' } },
    ],
    'ada',
  )
  server.push({ sid: 1_000 })
  await server.settle()
  expect(titles(issues)).toEqual({ i1: 'Cable cut', i9: 'Roof leaks' })
  expect(told.sort()).toEqual(['delete i2 -', 'insert i9 Roof leaks'])
})

test.each([undefined, { where: { projectId: 'p1' } }])(
  'it commits each change of its records, and nothing else, until it is cleaned up, with the query %j',
  async (query) => {
    const client = await clientOf(server)
    const { sync } = instepCollectionOptions({ client, type: 'Issue', query })
    let commits = 0
    const commit = () => {
      commits += 1
    }
    const stop = sync.sync({ begin() {}, write() {}, commit, markReady() {}, markError() {} })
    expect(commits).toBe(1)
    await server.write([{ op: 'u', t: 'Project', id: 'p1', p: { name: 'Home' } }])
    await server.settle()
    expect(commits).toBe(1)
    await server.write([{ op: 'u', t: 'Issue', id: 'i1', p: { title: 'Cable mended' } }])
    await server.settle()
    expect(commits).toBe(2)
    stop()
    await server.write([{ op: 'u', t: 'Issue', id: 'i1', p: { title: 'Cable laid' } }])
    await server.settle()
    expect(commits).toBe(2)
  },
)

test('without a query, a change reads the records that it changes, and not all', async () => {
  const client = await clientOf(server)
  const all = vi.spyOn(client, 'all')
  const issues = issuesOf(client)
  await server.write([{ op: 'u', t: 'Issue', id: 'i1', p: { title: 'Cable mended' } }])
  await server.settle()
  expect(titles(issues)).toMatchObject({ i1: 'Cable mended' })
  expect(all).toHaveBeenCalledTimes(1)
})

test('a wrong query is refused when the collection is made', async () => {
  const client = await clientOf(server)
  const make = () => instepCollectionOptions({ client, type: 'Issue', query: { limit: -1 } })
  expect(make).toThrow(/limit/)
})

test('a lazy type is loaded when its collection begins to sync, not when that is defined', async () => {
  const lazy = { ...models, Issue: model(models.Issue, { load: 'lazy' }) }
  const store = memoryStore()
  const begin = async () => {
    const client = server.client({ identity: 'ada', models: lazy, store })
    await client.start()
    await server.settle()
    return client
  }
  await server.clock.until((await begin()).close())
  const client = await begin()
  const query = { where: { title: { startsWith: 'C' } } }
  const issues = createCollection(instepCollectionOptions({ client, type: 'Issue', query }))
  await server.settle()
  expect(client.query('Issue').status).toBe('pending')
  await issues.preload()
  expect(titles(issues)).toEqual({ i1: 'Cable cut' })
})

test('two collections are joined, and the join follows both', async () => {
  const client = await clientOf(server)
  const issues = issuesOf(client)
  const projects = createCollection(instepCollectionOptions({ client, type: 'Project' }))
  issues.createIndex(({ projectId }) => projectId, { indexType: BasicIndex })
  const joined = createLiveQueryCollection((q) =>
    q
      .from({ issue: issues })
      .innerJoin({ project: projects }, ({ issue, project }) => eq(issue.projectId, project.id))
      .select(({ issue, project }) => ({ id: issue.id, title: issue.title, project: project.name })),
  )
  const rows = async () =>
    (await joined.toArrayWhenReady()).map(({ title, project }) => `${project}: ${title}`)
  expect(await rows()).toEqual(['House: Cable cut', 'House: Door stuck'])

  issues.insert({ id: 'i3', title: 'Lamp out', projectId: 'p1' })
  await server.write([{ op: 'u', t: 'Project', id: 'p1', p: { name: 'Home' } }])
  await server.settle()
  expect(await rows()).toEqual(['Home: Cable cut', 'Home: Door stuck', 'Home: Lamp out'])
})

test('a collection that is cleaned up listens to nothing, and can begin again', async () => {
  let listeners = 0
  const counted = (undo: () => void) => {
    listeners += 1
    return () => {
      listeners -= 1
      undo()
    }
  }
  let waiting: AbortSignal | undefined
  class Watched extends SyncClient<typeof models> {
    override load: SyncClient<typeof models>['load'] = (t, options) => {
      waiting = options?.signal
      return super.load(t, options)
    }
    override on: SyncClient['on'] = (name, listener) => counted(super.on(name, listener))
  }
  const { baseUrl, environment } = server
  const client = new Watched({ baseUrl, environment: environment, models, token: server.token('ada') })
  const issues = issuesOf(client)
  expect([listeners, waiting?.aborted]).toEqual([1, false])
  await issues.cleanup()
  expect([listeners, waiting?.aborted]).toEqual([0, true])
  const some = createCollection(instepCollectionOptions({ client, type: 'Issue', query: { limit: 1 } }))
  some.startSyncImmediate()
  expect(waiting?.aborted).toBe(false)
  await some.cleanup()
  expect(waiting?.aborted).toBe(true)
  await client.start()
  await server.settle()
  await issues.preload()
  expect(issues.size).toBe(2)
  await server.clock.until(client.close())
})
