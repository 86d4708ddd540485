import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { defineModels, type StandardSchema } from '../../src/index.ts'
import { issuesOf, issuesOfUpdate } from '../../src/models/issues.ts'
import type { SchemaIssue } from '../../src/models/standard-schema.ts'
import type { Payload } from '../../src/protocol/json.ts'

/** A schema of no library. */
function schemaBy(validate: (value: unknown) => unknown): StandardSchema {
  return { '~standard': { version: 1, vendor: 'by hand', validate: validate as never } }
}

const throwing = z.object({}).check(
  z.refine(() => {
    throw new TypeError('x is undefined')
  }),
)

const refusing = (...issues: readonly SchemaIssue[]) => schemaBy(() => ({ issues }))

describe('issuesOf', () => {
  const models = defineModels({
    Issue: z.object({ title: z.string(), place: z.optional(z.object({ x: z.number() })) }),
  })

  test('finds no issue in a payload that the schema accepts, even with other fields', () => {
    expect(issuesOf(models, 'Issue', { title: 'a', more: 1 })).toEqual([])
  })

  test('finds no issue in a type that is not declared', () => {
    expect(issuesOf(models, 'Other', { title: 1 })).toEqual([])
    expect(issuesOf(models, 'constructor', {})).toEqual([])
  })

  test('returns each issue with its path, which begins with the field', () => {
    expect(issuesOf(models, 'Issue', { place: { x: 'y' } })).toEqual([
      { path: ['title'], message: expect.any(String) },
      { path: ['place', 'x'], message: expect.any(String) },
    ])
  })

  test('reads the issue paths of any library: keys, numbers, objects with a key, or none', () => {
    const issues = [
      { message: 'a', path: ['list', 2, { key: 'x' }] },
      { message: 'b', path: [] },
      { message: 'c' },
    ]
    expect(issuesOf(defineModels({ T: refusing(...issues) }), 'T', {})).toEqual([
      { message: 'a', path: ['list', '2', 'x'] },
      { message: 'b', path: [] },
      { message: 'c', path: [] },
    ])
  })

  test('never changes the payload, even if the schema converts it', () => {
    const payload = Object.freeze({ dueAt: 1 })
    const doubling = z.pipe(
      z.object({ dueAt: z.number() }),
      z.transform(({ dueAt }) => ({ dueAt: 2 * dueAt })),
    )
    expect(issuesOf(defineModels({ T: doubling }), 'T', payload)).toEqual([])
    expect(payload).toEqual({ dueAt: 1 })
  })

  test('takes an error that the schema throws for an issue', () => {
    const schema = schemaBy(() => {
      throw new TypeError('x is undefined')
    })
    expect(issuesOf(defineModels({ T: schema }), 'T', {})).toEqual([
      { path: [], message: 'The schema threw: x is undefined' },
    ])
  })

  test.each([
    ['resolves', async () => ({ value: {} })],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['is of zod, and a check of it throws', (value: unknown) => throwing['~standard'].validate(value)],
  ])('refuses a schema that returns a promise: one that %s', async (_, validate) => {
    expect(() => issuesOf(defineModels({ Issue: schemaBy(validate) }), 'Issue', {})).toThrow(
      expect.objectContaining({
        name: 'ConfigurationError',
        option: 'models.Issue',
        message:
          'The schema of `Issue` returns a promise; use a synchronous schema whose checks do not throw.',
      }),
    )
  })
})

describe('issuesOfUpdate', () => {
  const schema = z
    .object({ a: z.number(), b: z.number(), c: z.optional(z.string()) })
    .check(z.refine(({ a, b }) => a < b, { path: ['b'], message: 'not above a' }))
  const models = defineModels({ Span: schema })
  const pathsOf = (before: Payload, written: Payload) =>
    issuesOfUpdate(models, 'Span', { before, written, after: { ...before, ...written } }).map(
      ({ path }) => path,
    )

  test('an issue that the write causes counts, in any field', () => {
    expect(pathsOf({ a: 1, b: 2 }, { a: 5 })).toEqual([['b']])
    expect(pathsOf({ a: 1, b: 2 }, { c: 5 })).toEqual([['c']])
  })

  test('an old issue counts only if the update writes its field', () => {
    expect(pathsOf({ a: 5, b: 2 }, { b: 3 })).toEqual([['b']])
    expect(pathsOf({ a: 5, b: 2 }, { a: 6, c: 'x' })).toEqual([])
  })

  test('the record before the update is checked only if the record after it has an issue', () => {
    const seen: unknown[] = []
    const T = schemaBy((value) => {
      seen.push(value)
      return { value }
    })
    const update = { before: { a: 1 }, written: { a: 2 }, after: { a: 2 } }
    expect(issuesOfUpdate(defineModels({ T }), 'T', update)).toEqual([])
    expect(seen).toEqual([update.after])
  })
})
