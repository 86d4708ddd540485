import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { defineModels } from '../../src/models/models.ts'
import { draft, type Mutator } from '../../src/mutations/draft.ts'
import { maxDepth, type Payload } from '../../src/protocol/json.ts'
import { maxNameLength } from '../../src/protocol/json-copy.ts'

const shown: { readonly [id: string]: Payload } = { 1: { title: 'Milk', n: 1 } }

function rowOf(t: string, id: string) {
  return t === 'Note' && Object.hasOwn(shown, id) ? { t, id, p: shown[id] ?? {} } : undefined
}

function write(body: (m: Mutator) => unknown, models: Parameters<typeof defineModels>[0] = {}) {
  let made = 0
  return draft(body, {
    rows: { of: (t) => ({ get: (id) => rowOf(t, id) }) },
    models: defineModels(models),
    newId: () => `new ${++made}`,
    since: 9,
  })
}

const refused = (field: string) => expect.objectContaining({ name: 'ValidationError', t: 'Note', field })

function nested(levels: number, innermost: unknown = 1): unknown {
  let value = innermost
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}

function cyclic(): unknown {
  const value: { [name: string]: unknown } = { title: 'Milk' }
  value.self = { back: [value] }
  return value
}

describe('a draft', () => {
  test('holds what was written, and what was there before', () => {
    const { ops, before } = write((m) => {
      m.update('Note', '1', { n: 2, title: undefined })
      expect(m.get('Note', '1')).toEqual({ id: '1', title: 'Milk', n: 2 })
      expect(m.insert('Note', { title: 'Bread' })).toBe('new 1')
      m.put('Note', { id: '2', title: 'Cake' }, { ifUnchanged: true })
      m.delete('Note', '1')
      m.delete('Note', 'none')
      expect([m.get('Note', '1'), m.get('Note', 'none')]).toEqual([undefined, undefined])
    })
    expect(ops).toEqual([
      { op: 'u', t: 'Note', id: '1', p: { n: 2 } },
      { op: 'i', t: 'Note', id: 'new 1', p: { title: 'Bread' } },
      { op: 'i', t: 'Note', id: '2', p: { title: 'Cake' }, put: true, unchangedSince: 9 },
      { op: 'd', t: 'Note', id: '1' },
    ])
    expect(before).toEqual([
      { t: 'Note', id: '1', p: { title: 'Milk', n: 1 } },
      { t: 'Note', id: 'new 1', p: null },
      { t: 'Note', id: '2', p: null },
    ])
  })

  test('says with each op that asks for it since when the record is to be unchanged', () => {
    const unchanged = { ifUnchanged: true }
    const { ops } = write((m) => {
      m.update('Note', '1', { n: 2 }, unchanged)
      m.put('Note', { id: '1' }, unchanged)
      m.delete('Note', '1', unchanged)
    })
    expect(ops.map((op) => [op.op, op.unchangedSince])).toEqual([
      ['u', 9],
      ['i', 9],
      ['d', 9],
    ])
  })

  test('copies what it is given', () => {
    const tags = ['a']
    const { ops } = write((m) => {
      m.update('Note', '1', { tags })
      tags.push('b')
    })
    expect(ops).toEqual([{ op: 'u', t: 'Note', id: '1', p: { tags: ['a'] } }])
  })

  test('refuses to add what is there, to change what is not, and another id', () => {
    expect(() => write((m) => m.insert('Note', { id: '1' }))).toThrow(refused('id'))
    expect(() => write((m) => m.update('Note', '2', { n: 1 }))).toThrow(refused('id'))
    expect(() => write((m) => m.update('Note', '1', { id: '2' }))).toThrow(refused('id'))
    expect(write((m) => m.update('Note', '1', { id: '1' })).ops).toEqual([])
  })

  test('is over when its function is', () => {
    let kept: Mutator | undefined
    write((m) => {
      kept = m
    })
    expect(() => kept?.insert('Note', {})).toThrow(expect.objectContaining({ name: 'ClosedError' }))
    expect(() => kept?.get('Note', '1')).toThrow(expect.objectContaining({ name: 'ClosedError' }))
  })

  test('refuses an asynchronous function, whose rejection is nobody’s', async () => {
    const broken = async () => {
      throw new Error('Later.')
    }
    expect(() => write(broken)).toThrow(expect.objectContaining({ name: 'ConfigurationError' }))
  })
})

describe.each([
  ['a Date', new Date(0), 'value'],
  ['NaN', Number.NaN, 'value'],
  ['an infinite number', Number.POSITIVE_INFINITY, 'value'],
  ['a Map', new Map(), 'value'],
  ['a Set', new Set([1]), 'value'],
  ['a bigint', 1n, 'value'],
  ['a symbol', Symbol('s'), 'value'],
  ['a function', () => 1, 'value'],
  ['an instance of a class', new (class Point {})(), 'value'],
  ['an object with toJSON', { toJSON: 1 }, 'value'],
  ['undefined in a list', [undefined], 'value.0'],
  ['a hole in a list', new Array(1), 'value.0'],
  ['undefined in an object', { a: [{ b: undefined }] }, 'value.a.0.b'],
  ['a field called __proto__', JSON.parse('{"a":{"__proto__":1}}'), 'value.a.__proto__'],
  ['NUL', { a: 'x\0' }, 'value.a'],
  ['half of a surrogate pair', 'x\ud800', 'value'],
  ['NUL in a name', { 'a\0': 1 }, 'value.a\\u0000'],
  ['a depth of 10 000', nested(10_000), 'value'],
  ['a cycle', cyclic(), 'value'],
])('%s', (_, value, field) => {
  test.each(['insert', 'update', 'put'] as const)('is refused by %s, and named', (kind) => {
    const body = (m: Mutator) => {
      if (kind === 'insert') m.insert('Note', { value })
      if (kind === 'update') m.update('Note', '1', { value })
      if (kind === 'put') m.put('Note', { id: '1', value })
    }
    expect(() => write(body)).toThrow(refused(field))
  })
})

test.each([
  ['a Map', new Map([['title', 'Milk']])],
  ['a list', ['Milk']],
  ['a Date', new Date(0)],
  ['null', null],
  ['nothing', undefined],
  ['a text', 'Milk'],
])('%s is no record', (_, given) => {
  const fields = given as never
  expect(() => write((m) => m.insert('Note', fields))).toThrow(refused(''))
  expect(() => write((m) => m.update('Note', '1', fields))).toThrow(refused(''))
  expect(() => write((m) => m.put('Note', fields))).toThrow(refused(''))
})

test.each([
  ['empty', ''],
  ['__proto__', '__proto__'],
  ['with NUL', 'a\0'],
  ['too long', 'x'.repeat(maxNameLength + 1)],
  ['a number', 5],
  ['null', null],
  ['an object', {}],
])('a type or an id that is %s is refused', (_, given) => {
  const name = given as never
  expect(() => write((m) => m.insert('Note', { id: name }))).toThrow(refused('id'))
  expect(() => write((m) => m.put('Note', { id: name }))).toThrow(refused('id'))
  expect(() => write((m) => m.update('Note', name, {}))).toThrow(refused('id'))
  const ofType = expect.objectContaining({ name: 'ValidationError', field: 't' })
  expect(() => write((m) => m.insert(name, {}))).toThrow(ofType)
  expect(() => write((m) => m.delete(name, '1'))).toThrow(ofType)
  expect(() => write((m) => m.get(name, '1'))).toThrow(ofType)
})

test('a record may nest as deep as the protocol allows, and no deeper', () => {
  // The record and its payload are the first two levels.
  const deepest = nested(maxDepth - 2)
  expect(write((m) => m.insert('Note', { deepest })).ops).toHaveLength(1)
  for (const value of [nested(maxDepth - 1), nested(maxDepth - 2, []), nested(maxDepth - 2, {})]) {
    expect(() => write((m) => m.insert('Note', { value }))).toThrow(refused('value'))
  }
})

describe('with models', () => {
  const Note = z.object({
    id: z.string(),
    title: z.string().check(z.minLength(3)),
    n: z.optional(z.number()),
  })

  test('an update is refused only for what it writes or breaks', () => {
    const Strict = z.object({ ...Note.shape, owner: z.string() })
    expect(write((m) => m.update('Note', '1', { n: 2 }), { Note: Strict }).ops).toHaveLength(1)
    const Long = z.object({ ...Note.shape }).check(z.refine(({ title }) => title.length > 4, 'too short'))
    expect(write((m) => m.update('Note', '1', { n: 2 }), { Note: Long }).ops).toHaveLength(1)
    expect(() => write((m) => m.update('Note', '1', { title: 5 }), { Note: Long })).toThrow(refused('title'))
  })

  const span = z.object({ a: z.number(), b: z.number() })
  const union = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('p') }),
    z.object({ kind: z.literal('q'), w: z.number() }),
  ])
  test.each([
    ['a rule about the whole', span.check(z.refine(({ a, b }) => a < b)), { a: 5, b: 3 }, ''],
    [
      'a rule that names another field',
      span.check(z.refine(({ a, b }) => a < b, { path: ['b'] })),
      { a: 5 },
      'b',
    ],
    ['the kind of a record whose fields are others', union, { kind: 'q' }, 'w'],
  ])('an update is refused where it breaks %s', (_, schema, fields, field) => {
    const updated = () =>
      write(
        (m) => {
          m.insert('Note', { id: '3', a: 1, b: 2, kind: 'p' })
          m.update('Note', '3', fields)
        },
        { Note: schema },
      )
    expect(updated).toThrow(refused(field))
  })
})
