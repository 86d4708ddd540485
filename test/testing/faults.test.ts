import { describe, expect, test } from 'vitest'
import { shown } from '../support/device.ts'
import { issue, setScene } from './scene.ts'

const scene = setScene()

test('a server that is down cannot be reached, and its sockets are gone; up again, all is well', async () => {
  const { server, live } = scene()
  const client = await live()
  server.down()
  await server.settle()
  expect(client.status.connection.state).toBe('offline')
  await server.write([issue('1')], 'ada')
  server.up()
  await server.settle()
  expect(shown(client)).toEqual({ 1: {} })
})

test('late: a response contains the data at the time of the request', async () => {
  const { server } = scene()
  await server.write([issue('1')], 'ada')
  server.late(5_000, { endpoint: 'bootstrap' })
  const client = server.client({ identity: 'ada', environment: { WebSocket: undefined } })
  const sync = client.sync()
  await server.clock.advance(1_000)
  await server.write([issue('2')], 'ada')
  expect(client.status.data.state).toBe('none')
  expect(await server.clock.until(sync)).toMatchObject({ kind: 'bootstrap', sid: 1 })
  expect(await server.clock.until(client.sync())).toMatchObject({ kind: 'delta', sid: 2 })
})

describe('wrong:', () => {
  const outcome = async (wrong: Parameters<ReturnType<typeof scene>['server']['wrong']>) => {
    const { server } = scene()
    for (let id = 0; id < 3; id += 1) await server.write([issue(`${id}`)], 'ada')
    server.wrong(...wrong)
    const client = server.client({ identity: 'ada' })
    const error: unknown = await server.clock.until(client.sync().catch((thrown: unknown) => thrown))
    expect(await server.clock.until(client.sync())).toMatchObject({ sid: 3 })
    return error
  }

  test.each([
    ['html', 'ProtocolError', 'not_json'],
    ['truncated', 'ProtocolError', 'truncated'],
    [204, 'ProtocolError', 'truncated'],
    [500, 'HttpError', 'http_status'],
  ] as const)('%s', async (wrong, name, code) => {
    expect(await outcome([wrong])).toMatchObject({ name, code })
  })

  test('a status can have headers and a body', async () => {
    const body = { error: { code: 'slow_down', message: 'Slow down.' } }
    expect(await outcome([429, { headers: { 'Retry-After': '7' }, body }])).toMatchObject({
      status: 429,
      serverCode: 'slow_down',
      retryAfterMs: 7_000,
    })
  })

  test('a response has the content type and the given headers', async () => {
    const { server } = scene()
    const answer = async (...wrong: Parameters<typeof server.wrong>) => {
      server.wrong(...wrong)
      const { headers } = await server.clock.until(server.environment.fetch(`${server.baseUrl}/delta`, {}))
      return [headers.get('Content-Type'), headers.get('X-Portal')]
    }
    const headers = { 'X-Portal': 'lobby' }
    expect(await answer('html')).toEqual(['text/html', null])
    expect(await answer('html', { headers })).toEqual(['text/html', 'lobby'])
    expect(await answer(500, { headers, body: {} })).toEqual(['application/json', 'lobby'])
  })

  test('a truncated response has the status of the whole, and no length', async () => {
    const { server } = scene()
    server.wrong('truncated')
    const { status, headers } = await server.clock.until(
      server.environment.fetch(`${server.baseUrl}/delta`, {}),
    )
    expect(status).toBe(401)
    expect([headers.get('Content-Type'), headers.get('Content-Length')]).toEqual(['application/json', null])
  })

  test('an impossible response is refused at once', () => {
    const { server } = scene()
    for (const status of [99, 199, 299.5, 600, Number.NaN]) {
      expect(() => server.wrong(status)).toThrow('a status from 200 to 599')
    }
    for (const status of [200, 599]) server.wrong(status)
    for (const status of [204, 205, 304]) {
      expect(() => server.wrong(status, { body: {} })).toThrow(`${status} has no body`)
    }
    expect(server.requests).toEqual([])
  })

  test.each([403, 'truncated'] as const)(
    '%s: a socket that is refused leaves a client that polls',
    async (wrong) => {
      const { server, live } = scene()
      server.wrong(wrong, { endpoint: 'ws', times: Number.POSITIVE_INFINITY })
      expect((await live()).status.connection.state).toBe('polling')
      server.heal()
      await server.clock.advance(60_000)
    },
  )
})

test('never: no response comes, until the client gives up and asks again', async () => {
  const { server } = scene()
  server.never({ endpoint: 'bootstrap' })
  const client = server.client({ identity: 'ada' })
  await client.start()
  await server.clock.advance(10_000)
  expect(client.status.connection.state).toBe('connecting')
  await server.settle()
  expect(client.status.connection.state).toBe('socket')
})

test('the response to any request can be lost', async () => {
  const { server } = scene()
  server.loseResponse()
  const ask = () => server.clock.until(server.environment.fetch(`${server.baseUrl}/delta`, {}))
  await expect(ask()).rejects.toThrow('fetch failed')
  expect((await ask()).status).toBe(401)
})

test('faults of the same scope come in order', async () => {
  const { server } = scene()
  for (const status of [500, 503]) server.wrong(status)
  const ask = async () =>
    (await server.clock.until(server.environment.fetch(`${server.baseUrl}/delta`, {}))).status
  expect([await ask(), await ask()]).toEqual([500, 503])
})

test('a fault applies to one endpoint, a number of times, or until `heal`', async () => {
  const { server } = scene()
  const ask = async (path: string) => {
    const headers = { Authorization: `Bearer ${server.token('ada')}` }
    const { fetch } = server.environment
    return (await server.clock.until(fetch(`${server.baseUrl}/${path}`, { headers }))).status
  }
  server.wrong(500, { endpoint: 'delta', times: 2 })
  server.wrong(503)
  expect(await ask('bootstrap')).toBe(503)
  expect([await ask('delta?since=0'), await ask('bootstrap')]).toEqual([500, 200])
  expect([await ask('delta?since=0'), await ask('delta?since=0')]).toEqual([500, 200])
  server.wrong(500, { times: Number.POSITIVE_INFINITY })
  expect([await ask('bootstrap'), await ask('bootstrap')]).toEqual([500, 500])
  server.heal()
  expect(await ask('bootstrap')).toBe(200)
})

describe('a request to tx', () => {
  const post = (id: string) => {
    const { server } = scene()
    const headers = { Authorization: `Bearer ${server.token('ada')}`, 'Content-Type': 'application/json' }
    const ops = [{ op: 'i', t: 'Issue', id, p: {} }]
    const body = JSON.stringify({ txs: [{ id: `tx-${id}`, since: 0, ops }] })
    return server.clock.until(
      server.environment.fetch(`${server.baseUrl}/tx`, { method: 'POST', headers, body }),
    )
  }

  test('can be rejected, and is not applied', async () => {
    const { server } = scene()
    await server.write([issue('0')], 'bob')
    server.reject('conflict', { message: 'Too late.' })
    const response = await post('1')
    const error = { code: 'conflict', message: 'Too late.' }
    expect(await response.json()).toEqual({ sid: 1, results: [{ id: 'tx-1', error }] })
    expect(await server.rows('ada')).toEqual([])
  })

  test('can be rejected several times, whatever is requested in between', async () => {
    const { server } = scene()
    server.reject('conflict', { times: 2 })
    const headers = { Authorization: `Bearer ${server.token('ada')}` }
    const { fetch } = server.environment
    expect((await server.clock.until(fetch(`${server.baseUrl}/bootstrap`, { headers }))).status).toBe(200)
    for (const id of ['1', '2', '3']) await post(id)
    expect((await server.rows('ada')).map(({ id }) => id)).toEqual(['3'])
  })

  test('can lose its response', async () => {
    const { server } = scene()
    server.loseResponse({ endpoint: 'tx' })
    await expect(post('1')).rejects.toThrow('fetch failed')
    expect(await server.rows('ada')).toMatchObject([{ t: 'Issue', id: '1' }])
  })
})
