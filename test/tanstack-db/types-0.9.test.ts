import { count, createCollection, createLiveQueryCollection, createTransaction, eq } from 'tanstack-db-0.9'
import { expectTypeOf, test } from 'vitest'
import * as z from 'zod/mini'
import { type DataRecord, SyncClient } from '../../src/index.ts'
import { instepCollectionOptions, instepMutationFn } from '../../src/tanstack-db/index.ts'

const baseUrl = 'https://api.example.com/sync/v1'
const models = {
  Issue: z.object({ title: z.string(), projectId: z.string(), labels: z.array(z.string()) }),
  Project: z.object({ name: z.string() }),
}
const client = new SyncClient({ baseUrl, models })
const issues = createCollection(instepCollectionOptions({ client, type: 'Issue' }))
const projects = createCollection({ ...instepCollectionOptions({ client, type: 'Project' }), gcTime: 0 })

test('the types of 0.9 take a collection too, and know its records', () => {
  expectTypeOf(issues.get('i1')?.labels).toEqualTypeOf<readonly string[] | undefined>()
  expectTypeOf(projects.get('p1')?.name).toEqualTypeOf<string | undefined>()
  expectTypeOf(issues.utils.type).returns.toEqualTypeOf<string>()
  const anything = createCollection(
    instepCollectionOptions({ client: new SyncClient({ baseUrl }), type: 'Any' }),
  )
  expectTypeOf(anything.get('1')?.n).toEqualTypeOf<DataRecord['n'] | undefined>()
  const write = () => {
    // @ts-expect-error a field is missing
    issues.insert({ id: 'i1', title: 'x', projectId: 'p1' })
    issues.update('i1', (draft) => {
      draft.title = 'x'
      // @ts-expect-error it is a text
      draft.title = 7
    })
    createTransaction({ mutationFn: instepMutationFn })
  }
  expectTypeOf(write).toBeFunction()
})

test('they know a join and an aggregate', () => {
  const joined = createLiveQueryCollection((q) =>
    q
      .from({ issue: issues })
      .innerJoin({ project: projects }, ({ issue, project }) => eq(issue.projectId, project.id))
      .groupBy(({ project }) => project.name)
      .select(({ issue, project }) => ({ project: project.name, open: count(issue.id) })),
  )
  expectTypeOf(joined.toArray[0]?.project).toEqualTypeOf<string | undefined>()
  expectTypeOf(joined.toArray[0]?.open).toEqualTypeOf<number | undefined>()
})
