import { describe, expect, test } from 'vitest'
import { migrateOp, migrateRow } from '../../src/models/migrate.ts'
import { defineModels } from '../../src/models/models.ts'

const row = { t: 'Note', id: '1', p: { n: 1 } }
const op = { op: 'u', t: 'Note', id: '1', p: { n: 1 } } as const

describe('migrating', () => {
  const models = defineModels(
    {},
    {
      version: 4,
      migrate: {
        2: { row: (value) => ({ ...value, p: { ...value.p, second: true } }) },
        4: { row: (value) => ({ ...value, t: 'Item' }), op: (value) => ({ ...value, t: 'Item' }) },
      },
    },
  )

  test('goes through each step after the version that it begins from', () => {
    expect(migrateRow(models, 1, row)).toEqual({ t: 'Item', id: '1', p: { n: 1, second: true } })
    expect(migrateRow(models, 2, row)).toEqual({ t: 'Item', id: '1', p: { n: 1 } })
    expect(migrateRow(models, 4, row)).toBe(row)
    expect(migrateOp(models, 1, op)).toEqual({ ...op, t: 'Item' })
  })

  test('fails where a step gives nothing, and names it', () => {
    const none = defineModels({}, { version: 3, migrate: { 3: { op: () => undefined } } })
    expect(() => migrateOp(none, 1, op)).toThrow('Note 1 cannot be migrated to version 3.')
    expect(migrateRow(none, 1, row)).toBe(row)
  })
})

test.each([
  ['version', { version: 0 }],
  ['version', { version: 1.5 }],
  ['version', { version: '2' }],
  ['migrate', { migrate: [] }],
  ['migrate', { migrate: { 1: {} } }],
  ['migrate', { migrate: { two: {} } }],
  ['migrate', { migrate: { 2: { row: 'x' } } }],
  ['migrate', { migrate: { 2: null } }],
])('a wrong %s is named: %j', (option, options) => {
  expect(() => defineModels({}, options as never)).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option: `models.${option}` }),
  )
})
