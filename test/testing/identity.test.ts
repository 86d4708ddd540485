import { describe, expect, test, vi } from 'vitest'
import { shown } from '../support/device.ts'
import { ownServer } from '../support/own-server.ts'
import { issue, setScene } from './scene.ts'

const scene = setScene()

describe.each(['expire', 'revoke'] as const)('%s', (command) => {
  test('closes the socket and pauses the client, which continues with a new token', async () => {
    const { server, live } = scene()
    const client = await live()
    server[command]('ada')
    await server.settle()
    expect(client.status.connection.state).toBe('unauthenticated')
    await server.write([issue('1')], 'ada')
    server.token('ada')
    client.resume()
    await server.settle()
    expect(client.status.connection.state).toBe('socket')
    expect(shown(client)).toEqual({ 1: {} })
  })

  test('applies to an identity without a token, until a new token', async () => {
    const { server } = scene()
    server[command]('ada')
    const client = server.client({ identity: 'ada' })
    await client.start()
    await server.settle()
    expect(client.status.connection.state).toBe('unauthenticated')
    client.resume(server.token('ada'))
    await server.settle()
    expect(client.status.connection.state).toBe('socket')
  })

  test('does not affect others', async () => {
    const { server, live } = scene()
    const client = await live()
    server[command]('bob')
    await server.settle()
    expect(client.status.connection.state).toBe('socket')
  })
})

test.each([
  ['expire', 'token_expired'],
  ['revoke', 'invalid_token'],
] as const)('%s makes requests get 401, with the reason %s', async (command, code) => {
  const { server } = scene()
  const headers = { Authorization: `Bearer ${server.token('ada')}` }
  server[command]('ada')
  const { fetch } = server.environment
  const response = await server.clock.until(fetch(`${server.baseUrl}/bootstrap`, { headers }))
  expect([response.status, (await response.json()).error.code]).toEqual([401, code])
})

test.each(['bootstrap', 'delta?since=0', 'tx'])(
  'a token in the query of %s is ignored, as by the service',
  async (path) => {
    const { server } = scene()
    const url = new URL(`${server.baseUrl}/${path}`)
    url.searchParams.set('token', server.token('ada'))
    const init = path === 'tx' ? { method: 'POST', body: '{"txs":[]}' } : {}
    const { status } = await server.clock.until(server.environment.fetch(String(url), init))
    expect(status).toBe(401)
  },
)

test('an expired token is renewed by the application', async () => {
  const { server } = scene()
  const causes: unknown[] = []
  server.token('ada', 60_000)
  const client = server.client({
    identity: 'ada',
    onUnauthenticated: ({ code }) => {
      causes.push(code)
      return server.token('ada')
    },
  })
  await client.start()
  await server.clock.advance(90_000)
  expect(causes).toEqual(['unauthenticated'])
  expect(client.status.connection.state).toBe('socket')
})

test('a token is valid for its lifetime, and an unknown token never', async () => {
  const { server } = scene()
  const token = server.token('ada', 60_000)
  const ask = async (own: string) => {
    const headers = { Authorization: `Bearer ${own}` }
    const { fetch } = server.environment
    const response = await server.clock.until(fetch(`${server.baseUrl}/bootstrap`, { headers }))
    return [response.status, (await response.json()).error?.code]
  }
  expect(await ask(token)).toEqual([200, undefined])
  await server.clock.advance(60_000)
  expect(await ask(token)).toEqual([401, 'token_expired'])
  expect(await ask('of my own')).toEqual([401, 'invalid_token'])
})

test('a caller can set when its tokens expire, and an expired one stays invalid', async () => {
  const expiresAt = Date.parse('2026-01-01T00:01:00Z')
  const server = ownServer({ callerOf: (identity) => ({ userId: identity, expiresAt }) })
  const headers = { Authorization: `Bearer ${server.token('ada')}` }
  const ask = async () => {
    const response = await server.clock.until(
      server.environment.fetch(`${server.baseUrl}/bootstrap`, { headers }),
    )
    return [response.status, (await response.json()).error?.code]
  }
  expect(await ask()).toEqual([200, undefined])
  await server.clock.advance(60_000)
  expect(await ask()).toEqual([401, 'token_expired'])
  server.expire('ada')
  server.revoke('ada')
  expect(await ask()).toEqual([401, 'token_expired'])
})

test('an API key counts like a token', async () => {
  const { server } = scene()
  await server.write([issue('1')], 'ada')
  const client = server.client({ identity: 'ada', apiKey: server.token('ada') })
  await client.start()
  await server.settle()
  expect(client.status.connection.state).toBe('polling')
  expect(shown(client)).toEqual({ 1: {} })
})

test('records may belong to an organization', async () => {
  const server = ownServer({
    ownerField: 'organizationId',
    callerOf: (identity) => ({ userId: identity, organizationId: 'acme' }),
  })
  await server.write([issue('1', { organizationId: 'acme' })])
  const client = server.client({ identity: 'acme:ada' })
  await client.start()
  await server.settle()
  expect(client.count('Issue')).toBe(1)
  expect(await server.rows('acme:bob')).toHaveLength(1)
})

test('an identity is also the organization of its name', async () => {
  const server = ownServer({ ownerField: 'organizationId' })
  await server.write([issue('1')], 'acme')
  expect(await server.rows('acme')).toMatchObject([{ p: { organizationId: 'acme' } }])
})

test('a client of the server logs nothing to the console', async () => {
  const { server, live } = scene()
  const said = (['debug', 'info', 'log', 'warn', 'error'] as const).map((name) => vi.spyOn(console, name))
  server.wrong(500, { endpoint: 'bootstrap' })
  await live()
  expect(said.flatMap(({ mock }) => mock.calls)).toEqual([])
  vi.restoreAllMocks()
})

test('the log of requests contains identities and endpoints, and no token', async () => {
  const { server, live } = scene()
  const token = server.token('ada')
  const begun = server.clock.now()
  await server.write([issue('1')], 'ada')
  await live()
  const headers = { 'X-API-Key': server.token('bob') }
  for (const body of ['{"txs":[]}', '{"txs":']) {
    await server.clock.until(
      server.environment.fetch(`${server.baseUrl}/tx`, { method: 'POST', headers, body }),
    )
  }
  expect(server.requests).toMatchObject([
    { at: begun + 20, identity: 'ada', method: 'GET', endpoint: 'ws', query: {}, body: undefined },
    { identity: 'ada', method: 'GET', endpoint: 'bootstrap' },
    { identity: 'ada', endpoint: 'delta', query: { since: '1' } },
    { identity: 'bob', method: 'POST', endpoint: 'tx', body: { txs: [] } },
    { identity: 'bob', endpoint: 'tx', body: '{"txs":' },
  ])
  expect(JSON.stringify(server.requests)).not.toContain(token)
  expect(JSON.stringify(server.requests)).not.toContain('token-')
})
