import { describe, expect, test } from 'vitest'
import { migrateOp, migrateRow } from '../../src/models/migrate.ts'
import { defineModels } from '../../src/models/models.ts'

const row = { t: 'Note', id: '1', p: { n: 1 } }
const op = { op: 'u', t: 'Note', id: '1', p: { n: 1 } } as const

describe('migrating', () => {
  test.each([
    ['null', () => null],
    ['a text', () => 'Note'],
    ['the payload alone', () => ({ n: 1 })],
    ['a row without a payload', () => ({ t: 'Note', id: '1' })],
    ['an id that is a number', () => ({ ...op, id: 1 })],
    ['a type that nothing can be called', () => ({ ...op, t: '__proto__' })],
    ['a promise', () => Promise.resolve(op)],
    ['a promise that rejects', () => Promise.reject(new Error('no'))],
  ])('fails if a step returns %s', (_, give) => {
    const step = give as () => never
    const wrong = defineModels({}, { version: 2, migrate: { 2: { row: step, op: step } } })
    expect(() => migrateRow(wrong, 1, row)).toThrow(
      'Note 1 cannot be migrated to version 2: the migration returned no valid row or op.',
    )
    expect(() => migrateOp(wrong, 1, op)).toThrow(
      'Note 1 cannot be migrated to version 2: the migration returned no valid row or op.',
    )
  })

  test.each([
    ['a row', row],
    ['no known op', { ...op, op: 'x' }],
    ['an `unchangedSince` that is none', { ...op, unchangedSince: 'yesterday' }],
    ['a `put` that is none', { ...op, op: 'i', put: 'yes' }],
  ])('fails if a step for ops returns %s', (_, given) => {
    const wrong = defineModels({}, { version: 2, migrate: { 2: { op: () => given as never } } })
    expect(() => migrateOp(wrong, 1, op)).toThrow(
      'Note 1 cannot be migrated to version 2: the migration returned no valid row or op.',
    )
  })
})

test.each([
  ['version', { version: 0 }],
  ['version', { version: 1.5 }],
  ['version', { version: '2' }],
  ['migrate', { migrate: [] }],
  ['migrate', { migrate: { 1: {} } }],
  ['migrate', { version: 2, migrate: { two: {} } }],
  ['migrate', { version: 2, migrate: { 2: {}, 3: {} } }],
  ['migrate', { migrate: { 2: {} } }],
  ['migrate', { version: 2, migrate: { 2: { row: 'x' } } }],
  ['migrate', { version: 2, migrate: { 2: null } }],
])('an error names a wrong `%s`: %j', (option, options) => {
  expect(() => defineModels({}, options as never)).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option: `models.${option}` }),
  )
})
