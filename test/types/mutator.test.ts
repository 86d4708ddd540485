import { expectTypeOf, test } from 'vitest'
import * as z from 'zod/mini'
import {
  type DataRecord,
  defineModels,
  type ModelDefinitions,
  model,
  SyncClient,
  type Transaction,
  type TypedMutator,
} from '../../src/index.ts'

const definitions = {
  Issue: model(
    z.object({
      title: z.string(),
      status: z.enum(['open', 'closed']),
      estimate: z.optional(z.number()),
      labels: z.array(z.string()),
    }),
  ),
  Project: z.object({ id: z.string(), name: z.string() }),
}
const baseUrl = 'https://api.example.com/sync/v1'
const issue = { title: 'Cable', status: 'open', labels: ['a'] } as const

// Its body is checked, and never run.
const typeOnly = (_: () => void) => {}

test('a mutator takes what the models say', () => {
  const client = new SyncClient({ baseUrl, models: defineModels(definitions) })
  typeOnly(() => {
    const tx = client.mutate((m) => {
      expectTypeOf(m.insert('Issue', issue)).toEqualTypeOf<string>()
      m.insert('Issue', { id: '1', ...issue })
      m.insert('Project', { name: 'Roof' })
      m.put('Project', { id: '1', name: 'Roof' }, { ifUnchanged: true })
      m.update('Issue', '1', { title: 'Door', labels: [...(m.get('Issue', '1')?.labels ?? []), 'b'] })
      m.update('Project', '1', {}, { ifUnchanged: true })
      m.delete('Issue', '1', { ifUnchanged: true })
      expectTypeOf(m.get('Issue', '1')?.status).toEqualTypeOf<'open' | 'closed' | undefined>()

      // @ts-expect-error no such type
      m.insert('Person', {})
      // @ts-expect-error `status` is missing
      m.insert('Issue', { title: 'Cable', labels: [] })
      // @ts-expect-error no such status
      m.insert('Issue', { ...issue, status: 'lost' })
      // @ts-expect-error no such field
      m.update('Issue', '1', { colour: 'red' })
      // @ts-expect-error a title is a text
      m.update('Issue', '1', { title: 5 })
      // @ts-expect-error an id cannot be changed
      m.update('Issue', '1', { id: '2' })
      // @ts-expect-error what is put has an id
      m.put('Issue', issue)
      // @ts-expect-error what is read is not to be changed
      m.get('Issue', '1')?.labels.push('c')
    })
    expectTypeOf(tx).toEqualTypeOf<Transaction>()
    client.outbox.retry(tx.id, (m) => m.update('Issue', '1', { status: 'closed' }))
    // @ts-expect-error no such type
    client.outbox.retry(tx.id, (m) => m.delete('Person', '1'))
    client.mutate(() => {}, { requires: [tx], coalesce: 'k', label: 'Close', group: 'g' })
    // @ts-expect-error no such option
    client.mutate(() => {}, { requieres: [tx] })
  })
})

test('an update of a union takes the fields of its shapes', () => {
  const Shape = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('circle'), r: z.number() }),
    z.object({ kind: z.literal('rect'), w: z.number(), h: z.number() }),
  ])
  const client = new SyncClient({ baseUrl, models: { Shape } })
  typeOnly(() => {
    client.mutate((m) => {
      m.insert('Shape', { kind: 'circle', r: 1 })
      m.update('Shape', '1', { r: 2 })
      m.update('Shape', '1', { kind: 'rect', w: 1, h: 2 })
      // @ts-expect-error a width is a number
      m.update('Shape', '1', { w: '1' })
      // @ts-expect-error a circle has no width
      m.update('Shape', '1', { kind: 'circle', w: 1 })
      // @ts-expect-error no shape has such a field
      m.update('Shape', '1', { colour: 'red' })
      // @ts-expect-error an id cannot be changed
      m.update('Shape', '1', { id: '2' })
    })
  })
})

test('an update of a record that may hold more takes what it names as it is named', () => {
  const client = new SyncClient({ baseUrl, models: { Note: z.looseObject({ n: z.number() }) } })
  typeOnly(() => {
    client.mutate((m) => {
      m.update('Note', '1', { n: 1, colour: 'red' })
      // @ts-expect-error it is a number
      m.update('Note', '1', { n: '1' })
    })
  })
})

test('a mutator without models takes any type and field', () => {
  const client = new SyncClient({ baseUrl })
  typeOnly(() => {
    client.mutate((m) => {
      m.insert('Anything', { a: 1 })
      m.update('Anything', '1', { b: [null] })
      m.put('Anything', { id: '1' })
      expectTypeOf(m.get('Anything', '1')).toEqualTypeOf<DataRecord | undefined>()
      // @ts-expect-error what is put has an id
      m.put('Anything', {})
    })
  })
})

test('a part of a transaction can be a function of its own', () => {
  typeOnly(() => {
    const client = new SyncClient({ baseUrl, models: definitions })
    const close = (m: TypedMutator<typeof definitions>, id: string) =>
      m.update('Issue', id, { status: 'closed' })
    const clear = (m: TypedMutator<ModelDefinitions>, id: string) => m.delete('Issue', id)
    client.mutate((m) => {
      close(m, '1')
      clear(m, '2')
    })
  })
})

test('the promises of a transaction give what they say', () => {
  typeOnly(() => {
    const tx = {} as Transaction
    expectTypeOf(tx.durable).resolves.toBeVoid()
    expectTypeOf(tx.accepted).resolves.toBeNumber()
    expectTypeOf(tx.synced).resolves.toBeNumber()
    expectTypeOf(tx.settled).resolves.toEqualTypeOf<Transaction['state']>()
    expectTypeOf(tx.undo()).resolves.toEqualTypeOf<Transaction | undefined | false>()
  })
})

test('what is written later is no part of a transaction', () => {
  const client = new SyncClient({ baseUrl, models: definitions })
  const rename = (m: TypedMutator<typeof definitions>) => m.update('Project', '1', { name: 'Roof' })
  const later = async (m: TypedMutator<typeof definitions>) => rename(m)
  typeOnly(() => {
    client.mutate(rename)
    client.mutate((m) => m.insert('Project', { name: 'Roof' }))
    client.mutate((m): unknown => rename(m))
    client.outbox.retry('1', rename)
    // @ts-expect-error an asynchronous function
    client.mutate(async (m) => rename(m))
    // @ts-expect-error an asynchronous function
    client.mutate(later)
    // @ts-expect-error an asynchronous function
    client.outbox.retry('1', later)
  })
})
