import * as current from '@tanstack/db'
import * as older from 'tanstack-db-0.9'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { instepCollectionOptions, instepMutationFn } from '../../src/tanstack-db/index.ts'
import { withSteps } from '../support/store-steps.ts'
import { type Client, clientOf, office, type Server } from './scene.ts'

// That its types take a collection too is shown in types-0.9.test.ts.
describe.each([
  ['0.15', current],
  ['0.9', older as unknown as typeof current],
])(
  'with %s',
  (_, { BasicIndex, count, createCollection, createLiveQueryCollection, createTransaction, eq }) => {
    let server: Server
    let client: Client
    let issues: ReturnType<typeof issuesOf>
    let projects: ReturnType<typeof projectsOf>

    const issuesOf = (of: Client) =>
      createCollection({ ...instepCollectionOptions({ client: of, type: 'Issue' }), startSync: true })
    const projectsOf = (of: Client) =>
      createCollection({ ...instepCollectionOptions({ client: of, type: 'Project' }), startSync: true })
    /** Both versions have it; the earlier has no `when`. */
    const settled = (tx: { readonly isPersisted: { readonly promise: Promise<unknown> } }) =>
      server.clock.until(tx.isPersisted.promise)

    beforeEach(async () => {
      server = await office()
      client = await clientOf(server)
      issues = issuesOf(client)
      projects = projectsOf(client)
      issues.createIndex(({ projectId }) => projectId, { indexType: BasicIndex })
    })
    afterEach(() => server.close())

    test('a join and an aggregate follow what is written here and what comes from the server', async () => {
      const joined = createLiveQueryCollection((q) =>
        q
          .from({ issue: issues })
          .innerJoin({ project: projects }, ({ issue, project }) => eq(issue.projectId, project.id))
          .select(({ issue, project }) => ({ title: issue.title, project: project.name })),
      )
      const counted = createLiveQueryCollection((q) =>
        q
          .from({ issue: issues })
          .groupBy(({ issue }) => issue.projectId)
          .select(({ issue }) => ({ projectId: issue.projectId, open: count(issue.id) })),
      )
      const shown = async () => {
        const rows = await joined.toArrayWhenReady()
        const groups = await counted.toArrayWhenReady()
        return [
          ...rows.map(({ project, title }) => `${project}: ${title}`),
          ...groups.map(({ projectId, open }) => `${projectId}: ${open}`),
        ]
      }
      expect(await shown()).toEqual(['House: Cable cut', 'House: Door stuck', 'p1: 2'])

      issues.insert({ id: 'i3', title: 'Lamp out', projectId: 'p1' })
      expect((await shown()).sort()).toEqual([
        'House: Cable cut',
        'House: Door stuck',
        'House: Lamp out',
        'p1: 3',
      ])
      await server.write([
        { op: 'u', t: 'Project', id: 'p1', p: { name: 'Home' } },
        { op: 'd', t: 'Issue', id: 'i2' },
      ])
      await server.settle()
      expect((await shown()).sort()).toEqual(['Home: Cable cut', 'Home: Lamp out', 'p1: 2'])
    })

    test('what was written offline stays in sight, in order, and reaches the server', async () => {
      server.down()
      await server.settle()
      const all = [
        issues.insert({ id: 'i3', title: 'Lamp', projectId: 'p1' }),
        issues.update('i3', (draft) => {
          draft.title = 'Lamp out'
        }),
        issues.delete('i2'),
      ]
      const titles = () => issues.toArray.map(({ title }) => title).sort()
      expect(titles()).toEqual(['Cable cut', 'Lamp out'])
      await undefined
      expect(client.get('Issue', 'i3')?.title).toBe('Lamp out')
      for (const tx of all) await settled(tx)
      expect(titles()).toEqual(['Cable cut', 'Lamp out'])
      expect((await server.rows('ada')).map(({ id }) => id).sort()).toEqual(['i1', 'i2', 'p1'])
      server.up()
      await server.settle()
      expect(titles()).toEqual(['Cable cut', 'Lamp out'])
      expect((await server.rows('ada')).map(({ id, p }) => `${id} ${p.title ?? p.name}`).sort()).toEqual([
        'i1 Cable cut',
        'i3 Lamp out',
        'p1 House',
      ])
    })

    test('a row that has settled is the client’s, and not the optimistic one, with nothing from the server', async () => {
      server.down()
      await server.settle()
      const tx = issues.update('i1', (draft) => {
        delete draft.estimate
      })
      expect(issues.get('i1')?.$synced).toBe(false)
      await settled(tx)
      expect(issues.get('i1')?.$synced).toBe(true)
      expect(issues.get('i1')).not.toHaveProperty('estimate')
      await settled(issues.insert({ id: 'i3', title: 'Lamp out', projectId: 'p1' }))
      expect(issues.get('i3')?.$synced).toBe(true)
      server.up()
      await server.settle()
      expect((await server.rows('ada')).find(({ id }) => id === 'i1')?.p).not.toHaveProperty('estimate')
    })

    test('what breaks its model, and what the server rejects, goes', async () => {
      const broken = issues.insert({ id: 'i3', title: 7 as never, projectId: 'p1' })
      await expect(settled(broken)).rejects.toMatchObject({ name: 'ValidationError' })
      server.reject('forbidden')
      const tx = issues.update('i1', { metadata: { label: 'Rename' } }, (draft) => {
        draft.title = 'Mine'
      })
      await settled(tx)
      await server.settle()
      expect(issues.toArray.map(({ title, $synced }) => [title, $synced])).toEqual([
        ['Cable cut', true],
        ['Door stuck', true],
      ])
      expect(client.outbox.list({ state: 'rejected' }).map(({ label }) => label)).toEqual(['Rename'])
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
      for (const tx of [first, second]) await settled(tx)
      expect([own.get('i2')?.title, own.get('i2')?.$synced]).toEqual(['Door mended', true])
      server.up()
      await server.settle()
      expect(own.toArray.map(({ title }) => title)).toEqual(['Cable cut', 'Door mended'])
    })

    test('a record that the query does not give goes as soon as it is written', async () => {
      server.down()
      const query = { where: { projectId: 'p1' } }
      const options = instepCollectionOptions({ client, type: 'Issue', query })
      const some = createCollection({ ...options, startSync: true })
      const tx = some.insert({ id: 'i3', title: 'Lamp out', projectId: 'p2' })
      expect(some.has('i3')).toBe(true)
      await settled(tx)
      expect([some.has('i3'), issues.has('i3')]).toEqual([false, true])
    })

    test('a transaction over two collections is one of the client, and fails as a whole', async () => {
      const move = (name: string) => {
        const tx = createTransaction({ mutationFn: instepMutationFn, metadata: { label: 'Close down' } })
        return tx.mutate(() => {
          issues.delete(['i1', 'i2'])
          projects.update('p1', (draft) => {
            draft.name = name
          })
        })
      }
      await expect(settled(move(7 as never))).rejects.toMatchObject({ name: 'ValidationError' })
      expect([issues.size, projects.get('p1')?.name]).toEqual([2, 'House'])
      await settled(move('Ruin'))
      expect(client.outbox.list().map(({ label }) => label)).toEqual(['Close down'])
      await server.settle()
      expect([issues.size, projects.get('p1')?.name]).toEqual([0, 'Ruin'])
    })
  },
)
