import type { StandardSchemaV1 } from '@standard-schema/spec'
import { describe, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { type DataRecord, defineModels, type JsonValue, model, type RecordOf } from '../../src/index.ts'
import type { FieldsOf } from '../../src/models/record-of.ts'

interface IssueRecord {
  readonly id: string
  readonly title: string
  readonly status: 'open' | 'closed'
  readonly estimate?: number | undefined
  readonly dueAt: number | null
  readonly labels: readonly string[]
  readonly place: { readonly at: readonly { readonly x: number }[] }
}

/** A schema of no library. */
function schemaOf<Input, Output = Input>(): StandardSchemaV1<Input, Output> {
  const validate = (value: unknown) => ({ value: value as Output })
  return { '~standard': { version: 1, vendor: 'by hand', validate } }
}

describe('a record has the fields that its schema takes, and the id, all readonly', () => {
  const byMini = mini.object({
    title: mini.string(),
    status: mini.enum(['open', 'closed']),
    estimate: mini.optional(mini.number()),
    dueAt: mini.nullable(mini.number()),
    labels: mini.array(mini.string()),
    place: mini.object({ at: mini.array(mini.object({ x: mini.number() })) }),
  })
  const byZod = z.object({
    title: z.string(),
    status: z.enum(['open', 'closed']),
    estimate: z.number().optional(),
    dueAt: z.number().nullable(),
    labels: z.array(z.string()),
    place: z.object({ at: z.array(z.object({ x: z.number() })) }),
  })
  const byHand = schemaOf<{
    title: string
    status: 'open' | 'closed'
    estimate?: number | undefined
    dueAt: number | null
    labels: string[]
    place: { at: { x: number }[] }
  }>()
  const plain = { byMini, byZod, byHand }
  const withOptions = { byMini: model(byMini), byZod: model(byZod), byHand: model(byHand) }

  test('by zod/mini, by zod, and by a schema of no library', () => {
    expectTypeOf<RecordOf<typeof plain, 'byMini'>>().branded.toEqualTypeOf<IssueRecord>()
    expectTypeOf<RecordOf<typeof plain, 'byZod'>>().branded.toEqualTypeOf<IssueRecord>()
    expectTypeOf<RecordOf<typeof plain, 'byHand'>>().branded.toEqualTypeOf<IssueRecord>()
  })

  test('whether the schema is given alone, with options, or by defineModels', () => {
    expectTypeOf<RecordOf<typeof withOptions, 'byMini'>>().branded.toEqualTypeOf<IssueRecord>()
    expectTypeOf<RecordOf<typeof withOptions, 'byHand'>>().branded.toEqualTypeOf<IssueRecord>()
    const defined = defineModels(withOptions)
    expectTypeOf<RecordOf<typeof defined, 'byZod'>>().branded.toEqualTypeOf<IssueRecord>()
  })

  test('and what is written is the same without the id', () => {
    expectTypeOf<FieldsOf<typeof plain, 'byHand'>>().branded.toEqualTypeOf<Omit<IssueRecord, 'id'>>()
  })
})

test('an id among the fields is the id, whatever the schema makes of it', () => {
  const models = { Issue: mini.object({ id: mini.number(), title: mini.string() }) }
  type Issue = RecordOf<typeof models, 'Issue'>
  expectTypeOf<Issue['id']>().toEqualTypeOf<string>()
  expectTypeOf<Issue['title']>().toEqualTypeOf<string>()
})

test('a transform is typed as what is stored: payloads are never changed by a schema', () => {
  const models = {
    Issue: z.object({ dueAt: z.number().transform((ms) => new Date(ms)), open: z.boolean().default(true) }),
    Note: schemaOf<{ at: number }, { at: Date }>(),
  }
  expectTypeOf<RecordOf<typeof models, 'Issue'>>().branded.toEqualTypeOf<{
    readonly id: string
    readonly dueAt: number
    readonly open?: boolean | undefined
  }>()
  expectTypeOf<RecordOf<typeof models, 'Note'>['at']>().toEqualTypeOf<number>()
})

test('each shape of a union is a shape of the record', () => {
  const models = {
    Event: mini.union([
      mini.object({ kind: mini.literal('a'), a: mini.number() }),
      mini.object({ kind: mini.literal('b'), b: mini.string() }),
    ]),
  }
  type Event = RecordOf<typeof models, 'Event'>
  expectTypeOf<Extract<Event, { kind: 'a' }>['a']>().toEqualTypeOf<number>()
  expectTypeOf<Extract<Event, { kind: 'b' }>['b']>().toEqualTypeOf<string>()
  expectTypeOf<Event['id']>().toEqualTypeOf<string>()
})

test('a branded value stays what it is, wherever it stands', () => {
  type UserId = string & { readonly __brand: 'UserId' }
  type Cents = number & { readonly __brand: 'Cents' }
  const models = {
    Issue: schemaOf<{
      owner: UserId
      price?: Cents
      seenBy: [UserId, ...UserId[]]
      by: { id: UserId | null }
    }>(),
  }
  type Issue = RecordOf<typeof models, 'Issue'>
  expectTypeOf<Issue['owner']>().toEqualTypeOf<UserId>()
  expectTypeOf<Issue['price']>().toEqualTypeOf<Cents | undefined>()
  expectTypeOf<Issue['seenBy']>().toEqualTypeOf<readonly [UserId, ...UserId[]]>()
  expectTypeOf<Issue['by']['id']>().toEqualTypeOf<UserId | null>()
})

test('a brand of the output alone is none of the record', () => {
  const models = { Issue: z.object({ owner: z.string().brand<'UserId'>() }) }
  expectTypeOf<RecordOf<typeof models, 'Issue'>['owner']>().toEqualTypeOf<string>()
})

test('a field may hold any JSON, and a value that nests its own kind', () => {
  interface Comment {
    text: string
    answers: Comment[]
  }
  const models = {
    Issue: z.object({ data: z.json(), pair: z.tuple([z.json(), z.string()]), first: z.custom<Comment>() }),
  }
  type Issue = RecordOf<typeof models, 'Issue'>
  expectTypeOf<{ a: (number | null)[] }>().toExtend<Issue['data']>()
  expectTypeOf<[{ a: null[] }, string]>().toExtend<Issue['pair']>()
  expectTypeOf<Comment>().toExtend<Issue['first']>()
  expectTypeOf<Issue['first']['answers']>().toExtend<readonly Issue['first'][]>()
  expectTypeOf<Issue['data']>().toExtend<JsonValue>()
})

test('a record of no model holds any JSON', () => {
  expectTypeOf<DataRecord['id']>().toEqualTypeOf<string>()
  expectTypeOf<DataRecord[string]>().toEqualTypeOf<JsonValue>()
})

test('an index names fields of the record', () => {
  const schema = mini.object({ title: mini.string(), status: mini.string() })
  model(schema, { indexes: ['title', ['status', 'title'], ['id']] })
  // @ts-expect-error there is no such field
  model(schema, { indexes: ['titel'] })
  // @ts-expect-error there is no such field, in the second place either
  model(schema, { indexes: [['title', 'titel']] })
  // @ts-expect-error an index has a field
  model(schema, { indexes: [[]] })
  // @ts-expect-error it is loaded in one of two ways
  model(schema, { load: 'sometimes' })
  const anything = schemaOf<unknown>()
  model(anything, { indexes: ['whatever'] })
})

test('what is no schema is no model', () => {
  // @ts-expect-error a number is no schema
  const broken = () => defineModels({ Issue: 7 })
  // @ts-expect-error a type without the standard's interface is no schema
  const alien = () => model({ parse: () => {} })
  expectTypeOf(broken).toBeFunction()
  expectTypeOf(alien).toBeFunction()
})
