import { describe, expect, test } from 'vitest'
import { HttpError, NetworkError, UnauthenticatedError } from '../../src/base/errors.ts'
import { failureOf } from '../../src/transport/failure.ts'

const http = (status: number, retryAfterMs?: number) => new HttpError('It failed.', { status, retryAfterMs })

describe('a delta that failed', () => {
  test.each([
    [410, { kind: 'reset' }],
    [409, { kind: 'reset' }],
    [400, { kind: 'refused', status: 400 }],
    [404, { kind: 'refused', status: 404 }],
    [499, { kind: 'refused', status: 499 }],
    [403, { kind: 'other' }],
    [408, { kind: 'other' }],
    [425, { kind: 'other' }],
    [429, { kind: 'other' }],
    [302, { kind: 'other' }],
    [500, { kind: 'other' }],
    [503, { kind: 'other' }],
  ])('with %i is %j', (status, failure) => {
    expect(failureOf(http(status))).toEqual(failure)
  })
})

test('what Retry-After asked for comes along', () => {
  expect(failureOf(http(429, 5_000))).toEqual({ kind: 'other', retryAfterMs: 5_000 })
  expect(failureOf(http(503, 0))).toEqual({ kind: 'other', retryAfterMs: 0 })
})

test('missing credentials are no other failure', () => {
  expect(failureOf(new UnauthenticatedError('401'))).toEqual({ kind: 'unauthenticated' })
})

test.each([
  ['no network', new NetworkError('timeout', 'Late.')],
  ['a fault in a program', new TypeError('x is not a function')],
  ['something that is no error', 'what?'],
])('%s says nothing of the history', (_, error) => {
  expect(failureOf(error)).toEqual({ kind: 'other' })
})
