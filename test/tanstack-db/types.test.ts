import { createCollection, createLiveQueryCollection, eq } from '@tanstack/db'
import { expectTypeOf, test } from 'vitest'
import * as z from 'zod/mini'
import { type DataRecord, SyncClient } from '../../src/index.ts'
import { instepCollectionOptions } from '../../src/tanstack-db/index.ts'

const baseUrl = 'https://api.example.com/sync/v1'
const models = {
  Issue: z.object({ title: z.string(), projectId: z.string(), labels: z.array(z.string()) }),
  Project: z.object({ name: z.string() }),
}
const client = new SyncClient({ baseUrl, models })
const issues = createCollection(instepCollectionOptions({ client, type: 'Issue' }))
const projects = createCollection(instepCollectionOptions({ client, type: 'Project' }))

test('a collection has the records of the models', () => {
  expectTypeOf(issues.get('i1')?.labels).toEqualTypeOf<readonly string[] | undefined>()
  expectTypeOf(projects.get('p1')?.name).toEqualTypeOf<string | undefined>()
  const wrong = () => {
    // @ts-expect-error there is no such type
    instepCollectionOptions({ client, type: 'Isue' })
    // @ts-expect-error there is no such field
    instepCollectionOptions({ client, type: 'Issue', query: { where: { titel: 'x' } } })
    // @ts-expect-error a field is missing
    issues.insert({ id: 'i1', title: 'x', projectId: 'p1' })
    // @ts-expect-error it is a text
    projects.insert({ id: 'p1', name: 7 })
  }
  expectTypeOf(wrong).toBeFunction()
})

test('drafts can be written, and are checked', () => {
  const write = () => {
    issues.update('i1', (draft) => {
      draft.title = 'x'
      // @ts-expect-error it is a text
      draft.title = 7
    })
  }
  expectTypeOf(write).toBeFunction()
})

test('a join knows the records of both', () => {
  const joined = createLiveQueryCollection((q) =>
    q
      .from({ issue: issues })
      .innerJoin({ project: projects }, ({ issue, project }) => eq(issue.projectId, project.id))
      .select(({ issue, project }) => ({ title: issue.title, project: project.name })),
  )
  expectTypeOf(joined.toArray[0]?.title).toEqualTypeOf<string | undefined>()
  expectTypeOf(joined.toArray[0]?.project).toEqualTypeOf<string | undefined>()
})

test('without models, any type has any JSON', () => {
  const anything = createCollection(
    instepCollectionOptions({ client: new SyncClient({ baseUrl }), type: 'Any' }),
  )
  expectTypeOf(anything.get('1')?.n).toEqualTypeOf<DataRecord['n'] | undefined>()
})
