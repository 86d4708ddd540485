import { describe, expect, test } from 'vitest'
import { HttpError, NetworkError, UnauthenticatedError } from '../../src/base/errors.ts'
import { failureOf, txFailureOf } from '../../src/network/failure.ts'

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

test.each([
  [400, undefined, 1, { kind: 'paused' }],
  [400, undefined, 2, { kind: 'paused' }],
  [400, 'invalid', 1, { kind: 'rejected', code: 'invalid' }],
  [400, 'invalid', 2, { kind: 'split' }],
  [413, undefined, 1, { kind: 'paused' }],
  [413, undefined, 2, { kind: 'split' }],
  [413, 'too_large', 1, { kind: 'rejected', code: 'too_large' }],
  [404, 'invalid', 1, { kind: 'paused' }],
  [429, 'invalid', 2, { kind: 'other' }],
  [503, 'invalid', 1, { kind: 'other' }],
])('%i with the code %j to %i transactions is %j', (status, serverCode, count, failure) => {
  const error = new HttpError('Refused.', { status, serverCode })
  expect(txFailureOf(error, count)).toEqual(failure)
})

test('missing credentials are a failure of their own', () => {
  expect(failureOf(new UnauthenticatedError('401'))).toEqual({ kind: 'unauthenticated' })
})

test.each([
  ['no network', new NetworkError('timeout', 'Late.')],
  ['a fault in a program', new TypeError('x is not a function')],
  ['something that is no error', 'what?'],
])('%s proves nothing about the history', (_, error) => {
  expect(failureOf(error)).toEqual({ kind: 'other' })
})
