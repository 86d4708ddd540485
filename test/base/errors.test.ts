import { describe, expect, test, vi } from 'vitest'
import {
  ClosedError,
  ConfigurationError,
  HttpError,
  isSyncError,
  NetworkError,
  ProtocolError,
  StorageError,
  SyncError,
  toError,
  UnauthenticatedError,
} from '../../src/base/errors.ts'

describe('the guard', () => {
  test('tells every error of the package, by class', () => {
    const error = new ClosedError()
    expect(isSyncError(error)).toBe(true)
    expect(isSyncError(error, 'ClosedError')).toBe(true)
    expect(isSyncError(error, 'HttpError')).toBe(false)
  })

  test.each([
    new Error('x'),
    new TypeError('x'),
    null,
    undefined,
    'ClosedError',
    { name: 'ClosedError', code: 'closed' },
  ])('refuses %j', (value) => {
    expect(isSyncError(value)).toBe(false)
  })

  test('works across copies of the package', async () => {
    vi.resetModules()
    const copy = await import('../../src/base/errors.ts')
    const error = new copy.NetworkError('timeout', 'Late.')
    expect(error).not.toBeInstanceOf(SyncError)
    expect(isSyncError(error, 'NetworkError')).toBe(true)
    expect(copy.isSyncError(new ClosedError(), 'ClosedError')).toBe(true)
  })
})

test('an error has its class as name, its code, its cause, and says whether trying again can help', () => {
  const cause = new TypeError('fetch failed')
  const error = new NetworkError('unreachable', 'Not there.', { cause })
  expect(error).toMatchObject({ name: 'NetworkError', code: 'unreachable', message: 'Not there.', cause })
  expect(String(error)).toBe('NetworkError: Not there.')
  expect(error).toBeInstanceOf(SyncError)
  expect('cause' in new ClosedError()).toBe(false)
})

test('what another try can mend is retryable', () => {
  const http = new HttpError('503', { status: 503, serverCode: 'busy', retryAfterMs: 5 })
  expect(http).toMatchObject({ status: 503, serverCode: 'busy', retryAfterMs: 5, retryable: true })
  expect(new ProtocolError('truncated', 'x').retryable).toBe(true)
  expect(new ProtocolError('row_too_large', 'x', { retryable: false }).retryable).toBe(false)
  expect(new UnauthenticatedError('x').retryable).toBe(false)
  expect(new StorageError('quota', 'x').retryable).toBe(false)
  expect(new ConfigurationError('token', 'x')).toMatchObject({ option: 'token', retryable: false })
})

test('anything that was thrown becomes an Error', () => {
  const error = new RangeError('x')
  expect(toError(error)).toBe(error)
  expect(toError('x').message).toBe('x')
  expect(toError(undefined).message).toBe('undefined')
})
