import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod/mini'
import {
  type ClientOf,
  type DataRecord,
  defineModels,
  type LiveQuery,
  type ModelDefinitions,
  memoryStore,
  model,
  type NameOf,
  type RecordFor,
  SyncClient,
} from '../../src/index.ts'

const definitions = {
  Issue: model(
    z.object({
      title: z.string(),
      status: z.enum(['open', 'closed']),
      estimate: z.optional(z.number()),
      labels: z.array(z.string()),
      place: z.object({ x: z.number() }),
    }),
    { indexes: ['status'] },
  ),
  Project: z.object({ name: z.string() }),
}

interface Issue {
  readonly id: string
  readonly title: string
  readonly status: 'open' | 'closed'
  readonly estimate?: number | undefined
  readonly labels: readonly string[]
  readonly place: { readonly x: number }
}

const baseUrl = 'https://api.example.com/sync/v1'

describe.each([
  ['plain definitions', new SyncClient({ baseUrl, models: definitions })],
  ['defineModels', new SyncClient({ baseUrl, models: defineModels(definitions) })],
])('a client with models by %s', (_, client) => {
  test('reads typed records', () => {
    expectTypeOf(client.get('Issue', '1')).branded.toEqualTypeOf<Issue | undefined>()
    expectTypeOf(client.getMany('Issue', ['1'])).branded.toEqualTypeOf<readonly (Issue | undefined)[]>()
    expectTypeOf(client.all('Issue')).branded.toEqualTypeOf<readonly Issue[]>()
    expectTypeOf(client.count('Issue')).toEqualTypeOf<number>()
    expectTypeOf(client.query('Issue').rows).branded.toEqualTypeOf<readonly Issue[]>()
    expectTypeOf(client.get('Project', '1')?.name).toEqualTypeOf<string | undefined>()
  })

  test('loads a type by its name', () => {
    expectTypeOf(client.load).parameter(0).toEqualTypeOf<'Issue' | 'Project'>()
    expectTypeOf(client.load).returns.toEqualTypeOf<Promise<void>>()
  })

  test('hands typed records to filters and listeners', () => {
    const query = client.query('Issue', {
      filter: (issue) => {
        expectTypeOf(issue).branded.toEqualTypeOf<Issue>()
        return issue.labels.length > 0
      },
    })
    query.subscribe(({ rows }) => {
      expectTypeOf(rows).branded.toEqualTypeOf<readonly Issue[]>()
    })
  })

  test('knows no other type', () => {
    expectTypeOf<Parameters<typeof client.get>[0]>().toEqualTypeOf<'Issue' | 'Project'>()
    // @ts-expect-error there is no such type
    client.get('Isue', '1')
    // @ts-expect-error there is no such type
    client.getMany('Isue', ['1'])
    // @ts-expect-error there is no such type
    client.all('Isue')
    // @ts-expect-error there is no such type
    client.count('Isue')
    // @ts-expect-error there is no such type
    client.confirmed('Isue', '1')
    // @ts-expect-error there is no such type
    expect(() => client.query('Isue')).toThrow('Isue')
  })

  test('takes conditions on the fields of the type, each with values of its own', () => {
    client.query('Issue', {
      where: {
        id: '1',
        status: { in: ['open', 'closed'] },
        title: { startsWith: 'a', ne: 'b' },
        estimate: { gte: 1 },
        labels: { contains: 'bug' },
        or: [{ status: 'open' }, { not: { estimate: null } }],
      },
    })
    client.count('Issue', { status: 'open' })
    const wrong = () => {
      // @ts-expect-error there is no such field
      client.query('Issue', { where: { titel: 'x' } })
      // @ts-expect-error there is no such field
      client.count('Issue', { titel: 'x' })
      // @ts-expect-error there is no such field, inside either
      client.query('Issue', { where: { and: [{ titel: 'x' }] } })
      // @ts-expect-error no status is called so
      client.query('Issue', { where: { status: 'done' } })
      // @ts-expect-error no status is called so
      client.query('Issue', { where: { status: { in: ['done'] } } })
      // @ts-expect-error it is a text, and none is missing
      client.query('Issue', { where: { title: null } })
      // @ts-expect-error a number does not begin with anything
      client.query('Issue', { where: { estimate: { startsWith: '1' } } })
      // @ts-expect-error a text is not above a number
      client.query('Issue', { where: { title: { gt: 1 } } })
      // @ts-expect-error a list of texts contains no number
      client.query('Issue', { where: { labels: { contains: 7 } } })
      // @ts-expect-error an object would be taken for a condition
      client.query('Issue', { where: { place: { x: 1 } } })
    }
    expectTypeOf(wrong).toBeFunction()
  })

  test('takes a branded value where the field has that brand', () => {
    type UserId = string & { readonly __brand: 'UserId' }
    const owned = new SyncClient({ baseUrl, models: { Issue: z.object({ owner: z.custom<UserId>() }) } })
    const of = (user: UserId) => {
      owned.query('Issue', {
        where: { owner: user, or: [{ owner: { in: [user] } }, { owner: { ne: user } }] },
      })
      owned.query('Issue', { where: { owner: { startsWith: 'u' } } })
      // @ts-expect-error any text may be somebody else's
      owned.query('Issue', { where: { owner: 'u1' } })
    }
    expectTypeOf(of).toBeFunction()
  })

  test('orders by the fields of the type', () => {
    client.query('Issue', { orderBy: 'title' })
    client.query('Issue', { orderBy: ['status', ['estimate', 'desc'], 'id'] })
    const wrong = () => {
      // @ts-expect-error there is no such field
      client.query('Issue', { orderBy: 'titel' })
      // @ts-expect-error there is no such field
      client.query('Issue', { orderBy: [['titel', 'desc']] })
      // @ts-expect-error there are two directions
      client.query('Issue', { orderBy: [['title', 'down']] })
    }
    expectTypeOf(wrong).toBeFunction()
  })

  test('gives what is readonly, whatever it nests', () => {
    const change = (issue: NonNullable<ReturnType<typeof client.get<'Issue'>>>) => {
      // @ts-expect-error readonly
      issue.title = 'x'
      // @ts-expect-error readonly
      issue.labels.push('x')
      // @ts-expect-error readonly
      issue.place.x = 1
      // @ts-expect-error readonly
      client.all('Issue').push(issue)
    }
    expectTypeOf(change).toBeFunction()
  })
})

describe('a client without models', () => {
  const client = new SyncClient({ baseUrl })

  test('knows any type, with any JSON in its records', () => {
    expectTypeOf(client.get('Whatever', '1')).toEqualTypeOf<DataRecord | undefined>()
    expectTypeOf(client.all('Whatever')).toEqualTypeOf<readonly DataRecord[]>()
    expectTypeOf(client.query('Whatever')).toEqualTypeOf<LiveQuery<DataRecord>>()
    client.query('Whatever', {
      where: { anything: 1, other: { gt: 'x' }, or: [{ a: null }] },
      orderBy: ['any'],
    })
    client.count('Whatever', { anything: { in: [1, 'two', null] } })
  })

  test('whose records are readonly', () => {
    const change = (record: DataRecord) => {
      // @ts-expect-error readonly
      record.title = 'x'
    }
    expectTypeOf(change).toBeFunction()
  })
})

describe('for wrappers of a client', () => {
  test('NameOf and RecordFor say its names and records', () => {
    type M = typeof definitions
    expectTypeOf<NameOf<M>>().toEqualTypeOf<'Issue' | 'Project'>()
    expectTypeOf<RecordFor<M, 'Issue'>>().branded.toEqualTypeOf<Issue>()
    expectTypeOf<NameOf<ModelDefinitions>>().toEqualTypeOf<string>()
    expectTypeOf<RecordFor<ModelDefinitions, 'Any'>>().toEqualTypeOf<DataRecord>()
  })

  test('by what defineModels gives, too', () => {
    const models = defineModels(definitions)
    expectTypeOf<NameOf<typeof models>>().toEqualTypeOf<'Issue' | 'Project'>()
    expectTypeOf<RecordFor<typeof models, 'Issue'>>().branded.toEqualTypeOf<Issue>()
  })

  test('ClientOf says the type of a client, by what defineModels takes or gives', () => {
    const models = defineModels(definitions)
    const client = new SyncClient({ baseUrl, models })
    expectTypeOf(client).toEqualTypeOf<ClientOf<typeof models>>()
    expectTypeOf(client.get('Project', '1')?.name).toEqualTypeOf<string | undefined>()
    expectTypeOf(new SyncClient({ baseUrl, models: definitions })).toEqualTypeOf<
      ClientOf<typeof definitions>
    >()
    expectTypeOf(new SyncClient({ baseUrl })).toEqualTypeOf<ClientOf<ModelDefinitions>>()
  })

  test('a client with models is a client of some of them, and of any', () => {
    const logout = (_: SyncClient) => {}
    const some = (_: SyncClient<Pick<typeof definitions, 'Project'>>) => {}
    const client = new SyncClient({ baseUrl, models: definitions })
    logout(client)
    some(client)
    const lent = <M extends ModelDefinitions>(typed: SyncClient<M>) => logout(typed)
    expectTypeOf(lent).toBeFunction()
    const any = new SyncClient({ baseUrl })
    const issues = new SyncClient({ baseUrl, models: { Issue: definitions.Issue } })
    const numbered = new SyncClient({ baseUrl, models: { Project: z.object({ name: z.number() }) } })
    const wrong = () => {
      // @ts-expect-error it may know no project
      some(any)
      // @ts-expect-error it knows no project
      some(issues)
      // @ts-expect-error the names of its projects are numbers
      some(numbered)
    }
    expectTypeOf(wrong).toBeFunction()
  })

  test('a typed client is passed on with its types', () => {
    const titles = <M extends typeof definitions>(client: SyncClient<M>) => client
    const client = titles(new SyncClient({ baseUrl, models: definitions }))
    expectTypeOf(client.get('Project', '1')?.name).toEqualTypeOf<string | undefined>()
  })
})

test('options are checked by their types', () => {
  const wrong = () => [
    // @ts-expect-error an option that is none
    new SyncClient({ baseUrl, modles: definitions }),
    // @ts-expect-error a token is a text, or a function that gives one
    new SyncClient({ baseUrl, token: 7 }),
    // @ts-expect-error one address of two is missing
    new SyncClient({ baseUrl: { http: baseUrl } }),
    // @ts-expect-error one address of three is missing
    new SyncClient({ endpoints: { bootstrapUrl: '/b', deltaUrl: '/d' } }),
    // @ts-expect-error what is no schema is no model
    new SyncClient({ baseUrl, models: { Issue: 7 } }),
  ]
  const right = new SyncClient({
    baseUrl: { http: baseUrl, ws: 'wss://live.example.com' },
    token: async () => null,
    identity: null,
    store: memoryStore(),
  })
  expectTypeOf(wrong).toBeFunction()
  expectTypeOf(right).toEqualTypeOf<SyncClient>()
})

test('what need not be given may be given as undefined', () => {
  const undecided: { readonly [name: string]: undefined } = {}
  const { onUnauthenticated, store, logger, merge, transactionCodec, environment, pollInterval, signal } =
    undecided
  const { indexes, load, version, migrate, requires, unchanged, state } = undecided
  const models = defineModels({ Issue: model(definitions.Project, { indexes, load }) }, { version, migrate })
  const client = new SyncClient({
    baseUrl,
    models,
    store,
    logger,
    merge,
    transactionCodec: transactionCodec,
    environment: environment,
    pollInterval,
    onUnauthenticated,
  })
  const asked = () => {
    client.mutate((m) => m.delete('Issue', '1', { ifUnchanged: unchanged }), { requires })
    client.outbox.list({ state })
    return [
      new SyncClient({ baseUrl, models: undefined, echoTimeout: pollInterval }),
      client.ready({ signal }),
      client.load('Issue', { signal }),
    ]
  }
  expectTypeOf(asked).toBeFunction()
})

test('each event brings what belongs to it', () => {
  const client = new SyncClient({ baseUrl })
  client.on('change', (event) => {
    if (event.kind === 'delta') expectTypeOf(event.changes[0]?.after).toEqualTypeOf<DataRecord | undefined>()
  })
  client.on('status', ({ data }) => {
    if (data.state === 'loading') expectTypeOf(data.progress.rows).toEqualTypeOf<number>()
  })
  // @ts-expect-error there is no such event
  client.on('chnage', () => {})
})

test('a change is of any type, and where that is one of the models, the client has the record by it', () => {
  const client = new SyncClient({ baseUrl, models: definitions })
  client.on('change', (event) => {
    if (event.kind === 'snapshot') return
    for (const { type: t, id, after } of event.changes) {
      expectTypeOf(t).toEqualTypeOf<string>()
      expectTypeOf(after).toEqualTypeOf<DataRecord | undefined>()
      if (t === 'Issue')
        expectTypeOf(client.get(t, id)?.status).toEqualTypeOf<'open' | 'closed' | undefined>()
    }
  })
})
