import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { prometheusMetrics } from '../../src/server/index.ts'
import { badRequest } from '../../src/server/node-http.ts'
import { insert, serviceOf } from './harness.ts'

const origin = 'https://app.test'

describe('every response', () => {
  test('invariant 64: a preflight needs no token, and allows what a client sends', async () => {
    const { ask } = serviceOf()
    const response = await ask('delta', {
      user: '',
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      },
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('Access-Control-Allow-Headers')).toBe('Authorization,Content-Type,X-API-Key')
    expect(response.headers.get('Access-Control-Allow-Methods')).toBe('GET,POST')
    // Otherwise a browser asks before almost every request: it keeps the answer for 5 s.
    expect(response.headers.get('Access-Control-Max-Age')).toBe('7200')
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*')
  })

  test.each([
    ['bootstrap', 'ann', 200],
    ['delta?since=0', 'ann', 200],
    ['bootstrap', '', 401],
    ['delta', 'ann', 400],
    ['elsewhere', 'ann', 404],
    ['tx', 'ann', 405],
  ])(
    'invariant 64: %s by %s can be read across origins, and no proxy keeps it (%i)',
    async (path, user, status) => {
      const { ask } = serviceOf()
      const response = await ask(path, { user, headers: { origin } })
      expect(response.status).toBe(status)
      expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*')
      const exposed = response.headers.get('Access-Control-Expose-Headers')
      expect(exposed?.split(',')).toEqual(['Retry-After', 'X-Request-Id'])
      expect(response.headers.get('Cache-Control')).toBe('no-store')
      expect(response.headers.get('Content-Type')).toBe('application/json')
    },
  )

  test('invariant 64: an internal error and a stopped service send the same headers', async () => {
    const { service, log, ask } = serviceOf()
    log.snapshot = () => Promise.reject(new Error('no'))
    const broken = await ask('bootstrap')
    await service.close()
    for (const response of [broken, await ask('bootstrap')]) {
      expect(response.status).toBeGreaterThanOrEqual(500)
      expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*')
      expect(response.headers.get('Cache-Control')).toBe('no-store')
    }
  })
})

test('a response that is not for pages has no CORS headers, and proxies do not cache it either', async () => {
  const { service } = serviceOf({ metrics: prometheusMetrics() })
  const asked = (path: string) =>
    service.fetch(new Request(`https://sync.test${path}`, { headers: { origin } }))
  for (const response of [await asked('/healthz'), await asked('/metrics'), badRequest()]) {
    expect(response.headers.get('Access-Control-Allow-Origin')).toBeNull()
    expect(response.headers.get('Cache-Control')).toBe('no-store')
    expect(response.headers.has('X-Request-Id')).toBe(response.status === 200)
  }
})

test('with a list of origins, only those are allowed', async () => {
  const { ask } = serviceOf({ allowedOrigins: [origin] })
  const allowed = await ask('bootstrap', { headers: { origin } })
  expect(allowed.headers.get('Access-Control-Allow-Origin')).toBe(origin)
  expect(allowed.headers.get('Vary')).toContain('Origin')
  const other = await ask('bootstrap', { headers: { origin: 'https://evil.test' } })
  expect(other.headers.get('Access-Control-Allow-Origin')).toBeNull()
})

describe('compression', () => {
  const asked = { headers: { 'accept-encoding': 'br, gzip' } }

  test.each(['bootstrap', 'delta?since=0'])(
    'a large %s is compressed if the client accepts it',
    async (path) => {
      const { service, ask } = serviceOf()
      await service.write(Array.from({ length: 200 }, (_, index) => insert(String(index))))
      const plain = await (await ask(path)).arrayBuffer()
      const response = await ask(path, asked)
      expect(response.headers.get('Content-Encoding')).toBe('gzip')
      expect(response.headers.get('Vary')).toContain('Accept-Encoding')
      const compressed = Buffer.from(await response.arrayBuffer())
      expect(compressed.length).toBeLessThan(plain.byteLength / 5)
      expect(gunzipSync(compressed)).toEqual(Buffer.from(plain))
    },
  )

  test('a small response and an error are not compressed, and have a length', async () => {
    const { ask } = serviceOf()
    for (const path of ['bootstrap', 'delta']) {
      const response = await ask(path, asked)
      expect(response.headers.get('Content-Encoding')).toBeNull()
      expect(Number(response.headers.get('Content-Length'))).toBe((await response.arrayBuffer()).byteLength)
    }
  })
})
