import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { defineModels, isSyncError, model, SyncClient } from '../../src/index.ts'

const schema = z.object({ title: z.string() })

describe('defineModels', () => {
  test('accepts schemas, alone or with options, and returns their indexes as lists of fields', () => {
    const { types } = defineModels({
      Issue: model(schema, { indexes: ['title', ['title', 'id']], load: 'lazy' }),
      Project: schema,
    })
    const fields = new Set(['id', 'title'])
    expect([...types]).toEqual([
      ['Issue', { schema, indexes: [['title'], ['title', 'id']], fields, load: 'lazy' }],
      ['Project', { schema, indexes: [], load: 'eager', fields }],
    ])
  })

  test('accepts its own result', () => {
    const models = defineModels({ Project: schema })
    expect(defineModels(models)).toBe(models)
  })

  test('accepts a type called `types`, and types called like the properties of every object', () => {
    const names = ['types', 'definitions', 'constructor', 'toString']
    const { types } = defineModels(Object.fromEntries(names.map((name) => [name, schema])))
    expect([...types.keys()]).toEqual(names)
  })

  test('accepts a schema that is a function, as in some libraries', () => {
    const callable = Object.assign(() => {}, { '~standard': schema['~standard'] })
    expect(defineModels({ Issue: callable }).types.get('Issue')?.schema).toBe(callable)
  })

  test('never changes a prototype', () => {
    defineModels({ constructor: schema, hasOwnProperty: schema })
    expect(Object.hasOwn(Object.prototype, 'hasOwnProperty')).toBe(true)
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

/** What is wrong, and the option that is to be named. */
const faults: readonly (readonly [name: string, models: unknown, option: string])[] = [
  ['null', null, 'models'],
  ['a list', [schema], 'models'],
  ['a type that is no schema', { Issue: 7 }, 'models.Issue'],
  ['a type that is null', { Issue: null }, 'models.Issue'],
  ['a type with another library’s schema', { Issue: { parse() {} } }, 'models.Issue'],
  [
    'a schema whose validate is none',
    { Issue: { '~standard': { version: 1, validate: true } } },
    'models.Issue',
  ],
  ['a model without a schema', { Issue: model(undefined as never) }, 'models.Issue'],
  ['a model whose options are none', { Issue: model(schema, 7 as never) }, 'models.Issue'],
  ['the type __proto__', JSON.parse('{"__proto__":{}}'), 'models.__proto__'],
  ['another load', { Issue: model(schema, { load: 'later' as never }) }, 'models.Issue.load'],
  [
    'a misspelt option of a type',
    { Issue: model(schema, { index: ['title'] } as never) },
    'models.Issue.index',
  ],
  [
    'indexes that are no list',
    { Issue: model(schema, { indexes: 'title' as never }) },
    'models.Issue.indexes',
  ],
  ['an index that is no name', { Issue: model(schema, { indexes: [7 as never] }) }, 'models.Issue.indexes'],
  ['an index without fields', { Issue: model(schema, { indexes: [[] as never] }) }, 'models.Issue.indexes'],
  [
    'an index with a field twice',
    { Issue: model(schema, { indexes: [['title', 'title']] }) },
    'models.Issue.indexes',
  ],
  [
    'an index by __proto__',
    { Issue: model(schema, { indexes: ['__proto__' as never] }) },
    'models.Issue.indexes',
  ],
]

describe('an error names the fault in one sentence', () => {
  test.each(faults)('%s', (_, models, option) => {
    for (const define of [
      () => defineModels(models as never),
      () => new SyncClient({ baseUrl: 'https://api.example.com/sync/v1', models: models as never }),
    ]) {
      const error = thrownBy(define)
      expect(isSyncError(error, 'ConfigurationError') && error).toMatchObject({
        option,
        message: expect.stringMatching(/^[^.]*`models\.?.*\.$|^A type cannot be called `__proto__`\.$/),
      })
    }
  })
})

test('a misspelt `migrate` is an error, so that stored data does not stay as it was', () => {
  const misspelt = { version: 2, migrations: {} }
  expect(() => defineModels({ Issue: schema }, misspelt)).toThrow(
    '`models.migrations` is not an option; expected one of version, migrate.',
  )
})

function thrownBy(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}
