import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { txResultSchema } from '../../src/protocol/schema/tx.ts'
import { readTxResponse } from '../../src/protocol/tx.ts'

const text = fc.constantFrom('', 'a', 5, null)
const refusal = fc.record(
  { code: text, message: text, details: fc.constantFrom(1, null) },
  { requiredKeys: [] },
)
const verdict = fc.record(
  {
    id: text,
    sid: fc.constantFrom(5, -1, 1.5, '5', null),
    error: fc.oneof(refusal, fc.constantFrom(null, 'conflict', 5, [])),
  },
  { requiredKeys: [] },
)

test('the reader accepts exactly the verdicts that the schema accepts', () => {
  fc.assert(
    fc.property(fc.oneof({ weight: 20, arbitrary: verdict }, fc.constantFrom(null, 5, 'a', [])), (value) => {
      const { results } = readTxResponse({ sid: 5, results: [value] })
      expect(results.length === 1).toBe(txResultSchema.safeParse(value).success)
    }),
    { numRuns: 1_000 },
  )
})

test('a verdict with a valid error is a rejection even if it has a `sid`, and one with an invalid error is left out', () => {
  const { results } = readTxResponse({
    sid: 5,
    results: [
      { id: 'a', sid: 5, error: { code: 'conflict', message: 'No.' } },
      { id: 'b', sid: 5, error: 'conflict' },
      { id: 'c', sid: 5, error: null },
      { id: 'd', error: { code: 'conflict' } },
      { id: 'e', error: { code: 'conflict', message: { toString: null } } },
    ],
  })
  expect(results).toEqual([
    { id: 'a', error: { code: 'conflict', message: 'No.' } },
    { id: 'c', sid: 5 },
    { id: 'd', error: { code: 'conflict', message: 'conflict' } },
    { id: 'e', error: { code: 'conflict', message: 'conflict' } },
  ])
})

test('a rejection drops details that nest too deep to be stored', () => {
  const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
  const errors = [500, 501, 100_000].map((levels) => ({ code: 'a', message: 'No.', details: nested(levels) }))
  const { results } = readTxResponse({ sid: 5, results: errors.map((error) => ({ id: 'a', error })) })
  expect(results.map((result) => 'error' in result && 'details' in result.error)).toEqual([
    true,
    false,
    false,
  ])
})

test('a reused id gets the verdict on its first body, if the server sends that verdict', () => {
  const refused = { code: 'conflict', message: 'No.', details: { n: 1 } }
  const details = [{ sid: 5 }, { sid: 5, error: null }, { error: refused }, { error: refused, id: 'b' }]
  const results = details.map((one) => ({
    id: 'a',
    error: { code: 'id_reused', message: 'Reused.', details: one },
  }))
  expect(readTxResponse({ sid: 7, results }).results).toEqual([
    { id: 'a', sid: 5 },
    { id: 'a', sid: 5 },
    { id: 'a', error: refused },
    { id: 'a', error: refused },
  ])
})

test.each([
  ['nothing', undefined],
  ['no verdict', {}],
  ['a position that is none', { sid: 1.5 }],
  ['a list', [{ sid: 5 }]],
  ['an error without a code', { error: { message: 'No.' } }],
])('a reused id is a rejection if its details are %s', (_, details) => {
  const result = { id: 'a', error: { code: 'id_reused', message: 'Reused.', details } }
  const [read] = readTxResponse({ sid: 7, results: [result] }).results
  expect(read).toMatchObject({ id: 'a', error: { code: 'id_reused' } })
})

test('the details of any other rejection are not taken for a verdict', () => {
  const result = { id: 'a', error: { code: 'invalid', message: 'No.', details: { sid: 5 } } }
  expect(readTxResponse({ sid: 7, results: [result] }).results).toEqual([result])
})
