import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  HttpError,
  NetworkError,
  ProtocolError,
  StorageError,
  UnauthenticatedError,
} from '../../src/base/errors.ts'
import { failureOf } from '../../src/transport/failure.ts'

const http = (status: number, retryAfterMs?: number) => new HttpError('It failed.', { status, retryAfterMs })

describe('a delta that failed', () => {
  test.each([
    [410, { kind: 'reset', reason: 'gone' }],
    [409, { kind: 'reset', reason: 'conflict' }],
    [400, { kind: 'refused', status: 400 }],
    [404, { kind: 'refused', status: 404 }],
    [499, { kind: 'refused', status: 499 }],
    [403, { kind: 'transient' }],
    [408, { kind: 'transient' }],
    [425, { kind: 'transient' }],
    [429, { kind: 'transient' }],
    [302, { kind: 'transient' }],
    [500, { kind: 'transient' }],
    [503, { kind: 'transient' }],
  ])('with %i is %j', (status, failure) => {
    expect(failureOf(http(status), 'delta')).toEqual(failure)
  })
})

test.each([400, 404, 409, 410, 429, 500])('a bootstrap that failed with %i is transient', (status) => {
  expect(failureOf(http(status), 'bootstrap')).toEqual({ kind: 'transient' })
})

test('what Retry-After asked for comes along', () => {
  expect(failureOf(http(429, 5_000), 'delta')).toEqual({ kind: 'transient', retryAfterMs: 5_000 })
  expect(failureOf(http(503, 0), 'bootstrap')).toEqual({ kind: 'transient', retryAfterMs: 0 })
})

test('missing credentials are no other failure', () => {
  expect(failureOf(new UnauthenticatedError('401'), 'delta')).toEqual({ kind: 'unauthenticated' })
})

test('a network or an answer that is no protocol may be better next time', () => {
  expect(failureOf(new NetworkError('timeout', 'Late.'), 'delta')).toEqual({ kind: 'transient' })
  expect(failureOf(new ProtocolError('truncated', 'Short.'), 'bootstrap')).toEqual({ kind: 'transient' })
})

test.each([
  ['a wrong option', new ConfigurationError('token', 'Wrong.')],
  ['a row that is too large', new ProtocolError('row_too_large', 'Long.', { retryable: false })],
  ['a store that refuses', new StorageError('quota', 'Full.')],
  ['a fault in a program', new TypeError('x is not a function')],
  ['something that is no error', 'what?'],
])('%s is told, and not retried quietly', (_, error) => {
  expect(failureOf(error, 'delta')).toEqual({ kind: 'failed' })
  expect(failureOf(error, 'bootstrap')).toEqual({ kind: 'failed' })
})
