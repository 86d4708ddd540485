import { describe, expect, test } from 'vitest'
import { type Authenticate, apiKeyAuthentication, bearerToken } from '../../src/server/index.ts'
import { FakeSocket, requestTo, serviceOf } from './harness.ts'

test.each([
  ['Bearer token', 'token'],
  ['bearer  token ', 'token'],
  ['Bearer two tokens', undefined],
  ['Bearer one, Bearer two', undefined],
  ['Bearer', undefined],
  ['Digest Bearer token', undefined],
  ['token', undefined],
])('the token of `Authorization: %s` is %s', (authorization, token) => {
  expect(bearerToken(new Request('https://sync.test/', { headers: { authorization } }))).toBe(token)
})

const wsRequest = (query: string, headers: Record<string, string> = {}) =>
  new Request(`https://sync.test/sync/v1/ws${query}`, { headers })

test.each([
  ['', 'no_token'],
  ['late', 'token_expired'],
  ['nobody', 'invalid_token'],
])(
  'a request with the token %j is answered with 401 and %s, and that is logged without the token',
  async (user, code) => {
    const { ask, lines } = serviceOf()
    const response = await ask('bootstrap', { user })
    expect(response.status).toBe(401)
    expect(response.headers.get('WWW-Authenticate')).toBe('Bearer')
    expect(await response.json()).toEqual({ error: { code, message: expect.any(String) } })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(
      /^Authentication failed\. \{"requestId":"[0-9a-f]{32}","path":"\/sync\/v1\/bootstrap",/,
    )
    expect(lines[0]).toMatch(new RegExp(`,"code":"${code}"}$`))
  },
)

test.each(['bootstrap', 'delta?since=0', 'ws', 'tx', 'elsewhere'])(
  'a request without credentials is refused at every path: %s',
  async (path) => {
    const { ask } = serviceOf()
    for (const method of ['GET', 'POST']) expect((await ask(path, { user: '', method })).status).toBe(401)
  },
)

test('if credentials cannot be checked now, the response is 503 and the log does not quote them', async () => {
  const { ask, lines } = serviceOf({
    authenticate: (request) => Promise.reject(new Error(`cannot look up ${bearerToken(request)}`)),
  })
  const response = await ask('bootstrap')
  expect(response.status).toBe(503)
  expect(response.headers.get('Retry-After')).toBe('5')
  expect(lines.join()).toContain('cannot look up …')
  expect(lines.join()).not.toContain('token-of-ann')
})

test('if `authenticate` throws synchronously, the response is 503', async () => {
  const { ask } = serviceOf({
    authenticate: () => {
      throw new Error('no')
    },
  })
  expect((await ask('bootstrap')).status).toBe(503)
})

test('an `authenticate` that never answers times out after 30 s, for requests and sockets', async () => {
  const { ask, connect, clock, lines } = serviceOf({ authenticate: () => new Promise(() => {}) })
  const answered = Promise.all([ask('bootstrap'), connect()])
  await clock.advance(29_999)
  expect(lines).toEqual([])
  await clock.advance(1)
  const [response, socket] = await answered
  expect([response.status, socket.closed]).toEqual([503, [1012, 'unavailable']])
  expect(lines.join()).toContain('`authenticate` did not answer within 30000 ms.')
})

test('a caller whose `expiresAt` has passed is refused, whatever `authenticate` returns', async () => {
  let expiresAt = 0
  const { ask, service, clock } = serviceOf({ authenticate: async () => ({ userId: 'ann', expiresAt }) })
  expiresAt = clock.now() + 1
  expect((await ask('bootstrap')).status).toBe(200)
  await clock.advance(1)
  const response = await ask('bootstrap')
  expect([response.status, (await response.json()).error.code]).toEqual([401, 'token_expired'])
  expect(await service.upgrade(wsRequest(''))).toMatchObject({ status: 401 })
})

test.each([undefined, null, { refused: 'because' }])(
  'a request is refused if `authenticate` returns %j',
  async (answer) => {
    const { ask } = serviceOf({ authenticate: async () => answer as never })
    const response = await ask('bootstrap')
    expect([response.status, (await response.json()).error.code]).toEqual([401, 'invalid_token'])
  },
)

test.each([
  'ann',
  true,
  42,
  {},
  { userId: '' },
  { userId: 42 },
  { organizationId: 'acme' },
  { userId: 'ann', organizationId: 7 },
  { userId: 'ann', expiresAt: Number.NaN },
  { userId: 'ann', expiresAt: '2026-01-01' },
])(
  'if `authenticate` returns no valid caller, the response is 503 and the log says what is expected: %j',
  async (answer) => {
    const { ask, lines } = serviceOf({ authenticate: async () => answer as never })
    expect((await ask('bootstrap')).status).toBe(503)
    expect(lines.join()).toContain('`authenticate` must return { userId, ')
  },
)

test('a caller without an owner may not read', async () => {
  const { ask, connect } = serviceOf({ ownerField: 'organizationId' })
  const response = await ask('bootstrap', { user: 'lonely' })
  expect(response.status).toBe(403)
  expect((await response.json()).error.code).toBe('forbidden')
  expect((await connect('lonely')).closed).toEqual([1008, 'refused'])
})

test('an organization without a name owns nothing, since all callers without one would share the data', async () => {
  const authenticate = async () => ({ userId: 'ann', organizationId: '' })
  const { ask } = serviceOf({ authenticate, ownerField: 'organizationId' })
  expect((await ask('bootstrap')).status).toBe(403)
})

describe('a token in the query', () => {
  test('authenticates a socket request, and no other request', async () => {
    const { service } = serviceOf()
    expect(await service.upgrade(wsRequest('?token=token-of-ann'))).toBeTypeOf('function')
    const http = await service.fetch(new Request('https://sync.test/sync/v1/bootstrap?token=token-of-ann'))
    expect(http.status).toBe(401)
  })

  test('is ignored if a header has a token', async () => {
    const { service } = serviceOf()
    const authorization = 'Bearer token-of-nobody'
    const refused = await service.upgrade(wsRequest('?token=token-of-ann', { authorization }))
    expect(refused).toMatchObject({ status: 401 })
    const key = await service.upgrade(wsRequest('?token=token-of-ann', { 'x-api-key': 'k' }))
    expect(key).toMatchObject({ status: 401 })
    for (const authorization of ['Bearer', 'bearer token-of-nobody']) {
      const other = await service.upgrade(wsRequest('?token=token-of-ann', { authorization }))
      expect(other).toMatchObject({ status: 401 })
    }
  })

  test.each([{ authorization: 'Basic cHJveHk6cGFzc3dvcmQ=' }, { authorization: '' }, { 'x-api-key': '' }])(
    'is used if no header has a token: %j',
    async (headers) => {
      const { service } = serviceOf()
      expect(await service.upgrade(wsRequest('?token=token-of-ann', headers))).toBeTypeOf('function')
      expect(await service.upgrade(wsRequest('?token=token-of-nobody', headers))).toMatchObject({
        status: 401,
      })
    },
  )

  test('is neither logged nor part of the URL that `authenticate` sees', async () => {
    const seen: string[] = []
    const { service, lines } = serviceOf({
      authenticate: async (request) => {
        seen.push(request.url)
        return null
      },
    })
    await service.upgrade(wsRequest('?a=1&token=secret-token'))
    expect(seen).toEqual(['https://sync.test/sync/v1/ws?a=1'])
    expect(lines.join()).not.toContain('secret')
  })
})

describe('a socket', () => {
  test('that was opened before its request was checked is closed if the request is refused', async () => {
    const { service } = serviceOf()
    const socket = new FakeSocket()
    await service.connect(socket, requestTo('ws', 'nobody'))
    expect(socket.closed).toEqual([4401, 'unauthenticated'])
    expect(socket.texts).toEqual([])
  })

  test('invariant 56: is refused with 403 from an origin that is not in the list', async () => {
    const { service } = serviceOf({ allowedOrigins: ['https://app.test'] })
    const headers = (origin: string) => ({ authorization: 'Bearer token-of-ann', origin })
    for (const origin of ['https://evil.test', 'https://app.test.evil.test', 'http://app.test', 'null']) {
      expect(await service.upgrade(wsRequest('', headers(origin)))).toMatchObject({ status: 403 })
      expect(await service.upgrade(wsRequest('?token=token-of-ann', { origin }))).toMatchObject({
        status: 403,
      })
    }
    expect(await service.upgrade(wsRequest('', headers('https://app.test')))).toBeTypeOf('function')
    expect(await service.upgrade(wsRequest('', { authorization: 'Bearer token-of-ann' }))).toBeTypeOf(
      'function',
    )
  })

  test('opens only at its own path', async () => {
    const { service } = serviceOf()
    expect(await service.upgrade(requestTo('bootstrap', 'ann'))).toMatchObject({ status: 404 })
  })

  test('opens only by GET, in whichever place the token is', async () => {
    const { service } = serviceOf()
    const post = (query: string, headers = {}) =>
      service.upgrade(new Request(wsRequest(query, headers), { method: 'POST' }))
    expect(await post('', { authorization: 'Bearer token-of-ann' })).toMatchObject({ status: 405 })
    expect(await post('?token=token-of-ann')).toMatchObject({ status: 405 })
  })
})

const withoutEnd = { userId: 'ann', active: true, organizationId: null, expiresAt: null }

test.each<[string, Authenticate]>([
  ['an API key', apiKeyAuthentication({ store: { find: async () => withoutEnd as never } })],
  ['an `authenticate`', async () => withoutEnd as never],
])('%s whose empty columns are null does not expire', async (_, authenticate) => {
  const { service } = serviceOf({ authenticate })
  const response = await service.fetch(requestTo('bootstrap', '', { headers: { 'X-API-Key': 'key' } }))
  expect(response.status).toBe(200)
})
