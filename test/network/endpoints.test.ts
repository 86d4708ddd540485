import { describe, expect, test } from 'vitest'
import { ConfigurationError } from '../../src/base/errors.ts'
import { redactUrl, resolveEndpoints, withQuery } from '../../src/network/endpoints.ts'

const page = 'https://app.example.com/inbox/7?tab=all#top'

describe('one base address', () => {
  test.each([
    ['http://localhost:8080', 'http://localhost:8080/delta', 'ws://localhost:8080/ws'],
    ['https://h/a/b/sync/v1/', 'https://h/a/b/sync/v1/delta', 'wss://h/a/b/sync/v1/ws'],
    ['https://h/sync///', 'https://h/sync/delta', 'wss://h/sync/ws'],
    ['https://h:8443/s?org=a%20b&x', 'https://h:8443/s/delta?org=a%20b&x', 'wss://h:8443/s/ws?org=a%20b&x'],
    ['HTTPS://Api.Example.com/S', 'https://api.example.com/S/delta', 'wss://api.example.com/S/ws'],
    ['https://[::1]:9/s', 'https://[::1]:9/s/delta', 'wss://[::1]:9/s/ws'],
  ])('%s resolves to %s and %s', (baseUrl, deltaUrl, wsUrl) => {
    expect(resolveEndpoints({ baseUrl }, undefined)).toMatchObject({ deltaUrl, wsUrl })
  })
})

describe('the error for a wrong option names the option and the expected value', () => {
  const whole = { bootstrapUrl: 'https://h/b', deltaUrl: 'https://h/d', wsUrl: 'wss://h/w' }
  const faults: readonly [string, unknown, string | undefined, string, RegExp][] = [
    ['neither option', {}, undefined, 'baseUrl', /is missing; expected a URL with http:\/\/ or https:\/\//],
    ['both options', { baseUrl: 'https://h', endpoints: whole }, undefined, 'endpoints', /one of the two/],
    ['a base that is a number', { baseUrl: 5 }, undefined, 'baseUrl', /is not a URL/],
    ['a base that is null', { baseUrl: null }, undefined, 'baseUrl', /is not a URL/],
    ['an empty base', { baseUrl: ' ' }, page, 'baseUrl', /is not a URL/],
    ['a path without a page', { baseUrl: '/sync' }, undefined, 'baseUrl', /a path on a page/],
    [
      'a path on a page that is a file',
      { baseUrl: '/s' },
      'file:///a.html',
      'baseUrl',
      /begins with `file:`/,
    ],
    ['a path on a page that is a blob', { baseUrl: '/s' }, 'about:blank', 'baseUrl', /is not a URL/],
    ['a host without a scheme', { baseUrl: 'localhost:80/s' }, page, 'baseUrl', /begins with `localhost:`/],
    ['a socket scheme for HTTP', { baseUrl: 'wss://h/s' }, undefined, 'baseUrl', /begins with `wss:`/],
    ['an address with a user', { baseUrl: 'https://me@h/s' }, undefined, 'baseUrl', /names a user/],
    [
      'an address with a password alone',
      { baseUrl: 'https://:pw@h/s' },
      undefined,
      'baseUrl',
      /names a user/,
    ],
    ['an address with a fragment', { baseUrl: 'https://h/s#x' }, undefined, 'baseUrl', /fragment/],
    ['an address with an empty fragment', { baseUrl: 'https://h/s#' }, undefined, 'baseUrl', /fragment/],
    ['a token in the address', { baseUrl: 'https://h/s?token=abc' }, undefined, 'baseUrl', /`token`/],
    [
      'two bases without the second',
      { baseUrl: { http: 'https://h' } },
      undefined,
      'baseUrl.ws',
      /is missing/,
    ],
    [
      'two bases with HTTP for both',
      { baseUrl: { http: 'https://h', ws: 'https://h' } },
      undefined,
      'baseUrl.ws',
      /expected a URL with ws:\/\/ or wss:\/\//,
    ],
    [
      'a missing address',
      { endpoints: { ...whole, deltaUrl: undefined } },
      undefined,
      'endpoints.deltaUrl',
      /is missing/,
    ],
    [
      'a `since` in the delta address',
      { endpoints: { ...whole, deltaUrl: 'https://h/d?since=1' } },
      undefined,
      'endpoints.deltaUrl',
      /`since`/,
    ],
    [
      'a path for the socket without a page',
      { endpoints: { ...whole, wsUrl: '/live' } },
      undefined,
      'endpoints.wsUrl',
      /a path on a page/,
    ],
    ['a null txUrl', { endpoints: { ...whole, txUrl: null } }, undefined, 'endpoints.txUrl', /is not a URL/],
  ]

  test.each(faults)('%s', (_, options, location, option, message) => {
    let thrown: unknown
    try {
      resolveEndpoints(options as never, location)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(ConfigurationError)
    expect((thrown as ConfigurationError).option).toBe(option)
    expect((thrown as ConfigurationError).message).toMatch(message)
    expect((thrown as ConfigurationError).message).toContain('expected')
    expect((thrown as ConfigurationError).message).not.toMatch(/pw|abc/)
  })
})

test('a parameter is added to any existing query', () => {
  expect(withQuery('https://h/delta', 'since', 5)).toBe('https://h/delta?since=5')
  expect(withQuery('https://h/delta?a=b%20c', 'since', 0)).toBe('https://h/delta?a=b%20c&since=0')
  expect(new URL(withQuery('wss://h/ws', 'token', 'a+b/c=&d')).searchParams.get('token')).toBe('a+b/c=&d')
})

test('a printed address contains neither user nor query', () => {
  expect(redactUrl('https://me:pw@h:81/a/b?key=secret#s')).toBe('https://h:81/a/b')
  expect(redactUrl('wss://h/ws')).toBe('wss://h/ws')
  expect(redactUrl('secret')).toBe('(not an address)')
})
