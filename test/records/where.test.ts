import { describe, expect, test } from 'vitest'
import { isSyncError } from '../../src/base/errors.ts'
import { readWhere } from '../../src/models/conditions.ts'
import type { JsonValue } from '../../src/protocol/json.ts'
import { replicaOf, row, t } from '../support/replica-fixtures.ts'

const values: { readonly [id: string]: JsonValue } = {
  one: 1,
  two: 2,
  ten: 10,
  a: 'a',
  ab: 'ab',
  b: 'b',
  no: false,
  yes: true,
  nothing: null,
  list: ['a', 1, { x: 1 }],
  object: { x: 1, y: [2] },
}

const rows = [...Object.entries(values).map(([id, f]) => row(id, { f })), row('missing')]

/** The ids that match, with an index on the field and without: both must agree. */
function matching(where: object): readonly string[] {
  const [plain, indexed] = [replicaOf(rows).replica, replicaOf(rows, [['f']]).replica].map((replica) => {
    expect(replica.count(t, { ...where })).toBe(replica.query(t, { where: { ...where } }).rows.length)
    return replica.query(t, { where: { ...where } }).rows.map(({ id }) => id)
  })
  expect(indexed).toEqual(plain)
  return plain ?? []
}

describe('equality', () => {
  test('a plain value matches an equal JSON value, and null also a missing one', () => {
    expect(matching({ f: 1 })).toEqual(['one'])
    expect(matching({ f: 'a' })).toEqual(['a'])
    expect(matching({ f: false })).toEqual(['no'])
    expect(matching({ f: null })).toEqual(['missing', 'nothing'])
    expect(matching({ f: ['a', 1, { x: 1 }] })).toEqual(['list'])
  })

  test('eq takes an object too, whatever the order of its keys', () => {
    expect(matching({ f: { eq: { y: [2], x: 1 } } })).toEqual(['object'])
  })

  test('ne matches every other value, and a missing one', () => {
    expect(matching({ f: { ne: 1 } })).toHaveLength(rows.length - 1)
    expect(matching({ f: { ne: null } })).toHaveLength(rows.length - 2)
  })

  test('in matches any of the values, and nothing for an empty list', () => {
    expect(matching({ f: { in: [1, 'a', null, { x: 1, y: [2] }] } })).toEqual([
      'a',
      'missing',
      'nothing',
      'object',
      'one',
    ])
    expect(matching({ f: { in: [] } })).toEqual([])
  })
})

describe('comparison', () => {
  test('compares values of one kind only', () => {
    expect(matching({ f: { gt: 1 } })).toEqual(['ten', 'two'])
    expect(matching({ f: { gte: 'ab' } })).toEqual(['ab', 'b'])
    expect(matching({ f: { lt: 2 } })).toEqual(['one'])
    expect(matching({ f: { lte: 'a' } })).toEqual(['a'])
    expect(matching({ f: { gt: 1, lte: 2 } })).toEqual(['two'])
    expect(matching({ f: { gt: 1, lt: 'b' } })).toEqual([])
  })

  test('startsWith matches strings only', () => {
    expect(matching({ f: { startsWith: 'a' } })).toEqual(['a', 'ab'])
    expect(matching({ f: { startsWith: '' } })).toEqual(['a', 'ab', 'b'])
  })

  test('contains matches a part of a string or an element of an array', () => {
    expect(matching({ f: { contains: 'b' } })).toEqual(['ab', 'b'])
    expect(matching({ f: { contains: { x: 1 } } })).toEqual(['list'])
    expect(matching({ f: { contains: 1 } })).toEqual(['list'])
  })
})

describe('combination', () => {
  test('and, or and not combine, and fields beside them must match too', () => {
    expect(matching({ or: [{ f: 1 }, { f: { startsWith: 'a' } }] })).toEqual(['a', 'ab', 'one'])
    expect(matching({ or: [{ f: 1 }, { f: 2 }], f: { gt: 1 } })).toEqual(['two'])
    expect(matching({ and: [{ f: { gt: 1 } }, { f: { lt: 10 } }] })).toEqual(['two'])
    expect(matching({ not: { f: { ne: null } } })).toEqual(['missing', 'nothing'])
    expect(matching({ or: [] })).toEqual([])
    expect(matching({ and: [] })).toHaveLength(rows.length)
  })

  test('undefined counts as omitted', () => {
    expect(matching({ f: undefined, or: undefined })).toHaveLength(rows.length)
    expect(matching({ f: { gte: 2, lt: undefined } })).toEqual(['ten', 'two'])
  })
})

test.each([
  [{ f: { like: 'a' } }, 'where.f'],
  [{ f: { toString: 'a' } }, 'where.f'],
  [{ f: { in: 'a' } }, 'where.f'],
  [{ f: { gt: null } }, 'where.f'],
  [{ f: { lt: Number.NaN } }, 'where.f'],
  [{ f: { startsWith: 1 } }, 'where.f'],
  [{ f: { eq: () => 1 } }, 'where.f'],
  [{ f: new Date(0) }, 'where.f'],
  [{ f: new Map() }, 'where.f'],
  [{ or: { f: 1 } }, 'where.or'],
  [{ or: [{ f: 1 }, null] }, 'where.or.1'],
  [{ and: [{ f: { like: 1 } }] }, 'where.and.0.f'],
  [{ not: [] }, 'where.not'],
  [[], 'where'],
] as const)('%j is refused, and the error names %s', (where, option) => {
  const { replica } = replicaOf([])
  for (const ask of [
    () => replica.query(t, { where: where as never }),
    () => replica.count(t, where as never),
  ]) {
    expect(ask).toThrowError(expect.objectContaining({ name: 'ConfigurationError', option }))
  }
})

test('an undefined operand counts as omitted, for the index as well', () => {
  expect(matching({ f: { gt: undefined } })).toHaveLength(rows.length)
  expect(readWhere({ f: { gt: undefined } }).fields.size).toBe(0)
})

test.each([
  [{ limit: -1 }, 'limit'],
  [{ limit: 1.5 }, 'limit'],
  [{ limit: '1' }, 'limit'],
  [{ orderBy: [['f', 'up']] }, 'orderBy'],
  [{ orderBy: [1] }, 'orderBy'],
  [{ orderBy: { f: 'asc' } }, 'orderBy'],
  [{ after: { id: 'a', values: [] }, orderBy: 'f' }, 'after'],
  [{ after: 'a' }, 'after'],
  [{ filter: true }, 'filter'],
  [{ limt: 1 }, 'limt'],
  [null, 'spec'],
  ['title', 'spec'],
] as const)('the query %j is refused, and the error names %s', (spec, option) => {
  const { replica } = replicaOf([])
  try {
    replica.query(t, spec as never)
    expect.unreachable()
  } catch (error) {
    expect(isSyncError(error, 'ConfigurationError')).toBe(true)
    expect(error).toHaveProperty('option', option)
  }
})
