import { collation, defineModels, model, type StandardSchema, SyncClient } from 'instep'
import { expect, test } from 'vitest'
import * as z from 'zod'
import * as mini from 'zod/mini'

const schemas = {
  zod: z.object({ title: z.string(), done: z.optional(z.boolean()) }),
  'zod/mini': mini.object({ title: mini.string(), done: mini.optional(mini.boolean()) }),
}

/** A client as plain JavaScript sees it: no names are checked before it runs. */
function untyped(schema: StandardSchema): SyncClient {
  const options = { baseUrl: 'https://sync.test/sync/v1', models: defineModels({ Note: schema }) }
  return new SyncClient(options) as unknown as SyncClient
}

test.each(Object.entries(schemas))(
  'with %s, a query that names what there is not is an error',
  (_, schema) => {
    const client = untyped(schema)
    expect(() => client.query('Note', { where: { titel: 'x' } })).toThrow('`where` names the field `titel`')
    expect(() => client.query('Note', { where: { or: [{ title: 'x' }, { not: { titel: 'x' } }] } })).toThrow(
      'titel',
    )
    expect(() => client.query('Note', { orderBy: 'titel' })).toThrow('`orderBy` names the field `titel`')
    expect(() => client.query('Note', { orderBy: [['titel', 'desc']] })).toThrow('titel')
    expect(() => client.query('Note', { orderBy: collation('en').by('titel') })).toThrow('titel')
    expect(() => client.query('Not', {})).toThrow('`type` must be one of Note, and not `Not`.')
    expect(() => client.count('Note', { titel: 'x' })).toThrow('titel')
  },
)

test.each(Object.entries(schemas))('with %s, a query of declared names is none', (_, schema) => {
  const client = untyped(schema)
  const where = { title: 'x', done: null, and: [{ id: 'a' }], titel: undefined }
  expect(client.query('Note', { where, orderBy: ['done', ['title', 'desc'], 'id'] }).rows).toEqual([])
  expect(client.count('Note', where)).toBe(0)
})

test('an index of a field that the schema does not have is an error', () => {
  const indexes = ['titel'] as unknown as ['title']
  expect(() => defineModels({ Note: model(schemas.zod, { indexes }) })).toThrow(
    '`models.Note.indexes` names the field `titel`',
  )
})

test('a schema that allows other fields, and a client without models, accept every name', () => {
  const open = untyped(z.looseObject({ title: z.string() }))
  expect(open.query('Note', { where: { titel: 'x' } }).rows).toEqual([])
  const plain = new SyncClient({ baseUrl: 'https://sync.test/sync/v1' })
  expect(plain.query('Not', { where: { titel: 'x' } }).rows).toEqual([])
})
