import { expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod/mini'
import { type CollatedField, collation, model, type OrderTerm, SyncClient } from '../../src/index.ts'

const { by, contains } = collation('de')
const issue = z.object({ title: z.string(), count: z.number(), labels: z.array(z.string()) })
const client = new SyncClient({
  baseUrl: 'https://api.example.com/sync/v1',
  models: { Issue: model(issue, { indexes: [by('title'), ['count', by('title')]] }) },
})

test('a collated field keeps the name of its field', () => {
  expectTypeOf(by('title')).toEqualTypeOf<CollatedField<'title'>>()
  expectTypeOf<CollatedField<'title'>>().toExtend<OrderTerm<'title' | 'count'>>()
})

test('an order takes the fields of the type, and no others', () => {
  client.query('Issue', { orderBy: by('title') })
  client.query('Issue', { orderBy: ['count', [by('title'), 'desc']] })
  // @ts-expect-error there is no such field
  expect(() => client.query('Issue', { orderBy: by('titel') })).toThrow('titel')
  // @ts-expect-error there is no such field
  expect(() => client.query('Issue', { orderBy: [[by('titel'), 'desc']] })).toThrow('titel')
  // @ts-expect-error there is no such field
  model(issue, { indexes: [by('titel')] })
})

test('a text condition is for texts and lists of texts', () => {
  client.query('Issue', { where: { title: contains('a'), labels: contains('b') } })
  // @ts-expect-error the field is a number
  client.query('Issue', { where: { count: contains('1') } })
})

test('records of any type take both', () => {
  const plain = new SyncClient({ baseUrl: 'https://api.example.com/sync/v1' })
  plain.query('Issue', { where: { title: contains('a') }, orderBy: [by('title')] })
})
