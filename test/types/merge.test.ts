import { expectTypeOf, test } from 'vitest'
import * as z from 'zod/mini'
import {
  type ClientOf,
  type DataRecord,
  defineModels,
  type Merge,
  type ModelDefinitions,
  model,
  SyncClient,
  type TypedMutator,
} from '../../src/index.ts'

const definitions = {
  Issue: model(z.object({ title: z.string(), estimate: z.optional(z.number()) })),
  Project: z.object({ name: z.string() }),
}
const models = defineModels(definitions)
const baseUrl = 'https://api.example.com/sync/v1'

test('what is written in place of a rejected transaction is what the models say', () => {
  const client = new SyncClient({
    baseUrl,
    models,
    merge: ({ rejection }) => {
      if (rejection?.reason !== 'conflict') return undefined
      return (m) => {
        expectTypeOf(m.get('Issue', '1')?.estimate).toEqualTypeOf<number | undefined>()
        expectTypeOf(m.insert('Issue', { title: 'Cable' })).toEqualTypeOf<string>()
        m.update('Issue', '1', { title: 'Door' })
        m.put('Project', { id: '1', name: 'Roof' }, { ifUnchanged: true })
        m.delete('Project', '1')
        // @ts-expect-error no such type
        m.insert('Isue', { title: 'Cable' })
        // @ts-expect-error no such type
        m.delete('Isue', '1')
        // @ts-expect-error no such field
        m.insert('Issue', { titel: 'Cable' })
        // @ts-expect-error a title is a text
        m.update('Issue', '1', { title: 1 })
        // @ts-expect-error what is put has an id
        m.put('Project', { name: 'Roof' })
      }
    },
  })
  expectTypeOf(client).toEqualTypeOf<ClientOf<typeof models>>()
})

test('a record of the transaction is written whatever its type is', () => {
  const client = new SyncClient({
    baseUrl,
    models,
    merge:
      ({ records }) =>
      (m) => {
        for (const { type: t, id, mine, theirs } of records) {
          expectTypeOf(m.get(t, id)).branded.toEqualTypeOf<DataRecord | undefined>()
          if (mine && theirs) m.update(t, id, { ...theirs, ...mine, at: undefined })
          else if (mine) m.put(t, { ...mine, id })
          else m.delete(t, id)
        }
      },
  })
  expectTypeOf(client).toEqualTypeOf<ClientOf<typeof models>>()
})

test('the models say what the client is, wherever and however merge stands', () => {
  const close = (m: TypedMutator<typeof definitions>) => m.update('Issue', '1', { title: 'Closed' })
  const clear = (m: TypedMutator<ModelDefinitions>) => m.delete('Issue', '1')
  const any: Merge = () => (m) => m.insert('Anything', { a: 1 })
  const clients = [
    new SyncClient({ baseUrl, merge: () => close, models }),
    new SyncClient({ baseUrl, merge: () => clear, models }),
    new SyncClient({ baseUrl, merge: any, models }),
    new SyncClient({
      baseUrl,
      merge: () => {
        return (m) => close(m)
      },
      models,
    }),
    new SyncClient({ baseUrl, merge: () => (m) => m.delete('Issue', '1'), models: definitions }),
    new SyncClient({
      baseUrl,
      merge() {
        return (m) => {
          m.update('Issue', '1', { title: 'x' })
        }
      },
      models,
    }),
    new SyncClient({ baseUrl, merge: () => undefined, models }),
  ] as const
  expectTypeOf(clients[0]).toEqualTypeOf<ClientOf<typeof models>>()
  expectTypeOf(clients[1]).toEqualTypeOf<ClientOf<typeof models>>()
  expectTypeOf(clients[2]).toEqualTypeOf<ClientOf<typeof models>>()
  expectTypeOf(clients[3]).toEqualTypeOf<ClientOf<typeof models>>()
  expectTypeOf(clients[4]).toEqualTypeOf<ClientOf<typeof models>>()
  expectTypeOf(clients[5]).toEqualTypeOf<ClientOf<typeof models>>()
  expectTypeOf(clients[6]).toEqualTypeOf<ClientOf<typeof models>>()
})

test('a merge of its own is typed by what defineModels takes or gives', () => {
  const own: Merge<typeof models> = () => (m) => {
    m.update('Issue', '1', { estimate: 1 })
    // @ts-expect-error no such type
    m.delete('Isue', '1')
  }
  const client = new SyncClient({ baseUrl, models, merge: own })
  expectTypeOf(own).toEqualTypeOf<Merge<typeof definitions>>()
  expectTypeOf(client).toEqualTypeOf<ClientOf<typeof models>>()
})

test('without models it writes any type and field', () => {
  const client = new SyncClient({
    baseUrl,
    merge:
      ({ label }) =>
      (m) => {
        const id = m.insert('Note', { text: label, at: undefined })
        m.update('Note', id, { text: m.get('Note', id)?.text })
      },
  })
  expectTypeOf(client).toEqualTypeOf<SyncClient>()
})
