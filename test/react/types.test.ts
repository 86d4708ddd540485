import { describe, expectTypeOf, test } from 'vitest'
import * as z from 'zod/mini'
import { type DataRecord, defineModels, type Status, SyncClient } from '../../src/index.ts'
import { createHooks, SyncProvider, useClient, useLiveQuery, useRecord } from '../../src/react/index.ts'

const definitions = {
  Issue: z.object({ title: z.string(), status: z.enum(['open', 'closed']) }),
  Project: z.object({ name: z.string() }),
}
const models = defineModels(definitions)
const client = new SyncClient({ baseUrl: 'https://api.example.com/sync/v1', models })

describe.each([
  ['defineModels', createHooks<typeof models>()],
  ['plain definitions', createHooks<typeof definitions>()],
])('hooks typed by %s', (_, hooks) => {
  // Never rendered: what counts is what the compiler says of it.
  const use = (component: () => unknown) => expectTypeOf(component).toBeFunction()

  test('return the records of the models', () =>
    use(() => {
      const { rows } = hooks.useLiveQuery('Issue', { where: { status: 'open' }, orderBy: 'title' })
      expectTypeOf(rows[0]?.status).toEqualTypeOf<'open' | 'closed' | undefined>()
      expectTypeOf(hooks.useSuspenseQuery('Project').rows[0]?.name).toEqualTypeOf<string | undefined>()
      expectTypeOf(hooks.useRecord('Issue', 'i1')?.title).toEqualTypeOf<string | undefined>()
      expectTypeOf(hooks.useRecord('Issue', null)?.title).toEqualTypeOf<string | undefined>()
      expectTypeOf(hooks.useClient().get('Project', 'p1')?.name).toEqualTypeOf<string | undefined>()
    }))

  test('pass typed records to a filter', () =>
    use(() =>
      hooks.useLiveQuery('Issue', {
        filter: (issue) => {
          expectTypeOf(issue.title).toEqualTypeOf<string>()
          return true
        },
      }),
    ))

  test('accept no other type, field or value', () =>
    use(() => {
      // @ts-expect-error there is no such type
      hooks.useLiveQuery('Isue')
      // @ts-expect-error there is no such type
      hooks.useRecord('Isue', 'i1')
      // @ts-expect-error there is no such field
      hooks.useLiveQuery('Issue', { where: { titel: 'x' } })
      // @ts-expect-error no status is called so
      hooks.useSuspenseQuery('Issue', { where: { status: 'done' } })
    }))

  test('a selector of the status is typed', () =>
    use(() => {
      expectTypeOf(hooks.useSyncStatus()).toEqualTypeOf<Status>()
      expectTypeOf(hooks.useSyncStatus(({ writes }) => writes.pending)).toEqualTypeOf<number>()
    }))

  test('the provider accepts a client of these models', () => {
    use(() => hooks.SyncProvider({ client, children: 'text' }))
    const other = new SyncClient({ baseUrl: 'https://api.example.com', models: { Other: definitions.Issue } })
    // @ts-expect-error a client of other models
    use(() => hooks.SyncProvider({ client: other }))
  })
})

test('the untyped hooks accept any type with any JSON, and their provider any client', () => {
  const component = () => {
    expectTypeOf(useLiveQuery('Whatever').rows).toEqualTypeOf<readonly DataRecord[]>()
    expectTypeOf(useRecord('Whatever', undefined)).toEqualTypeOf<DataRecord | undefined>()
    expectTypeOf(useRecord('Whatever', null)).toEqualTypeOf<DataRecord | undefined>()
    expectTypeOf(useClient()).toEqualTypeOf<SyncClient>()
    return SyncProvider({ client })
  }
  expectTypeOf(component).toBeFunction()
})
