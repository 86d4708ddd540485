import { beforeAll, describe, expect, test } from 'vitest'
import type { Fetch } from '../../src/base/environment.ts'
import { type JwtKeySet, type JwtRules, jwtAuthentication } from '../../src/server/index.ts'
import { serviceOf } from '../server/harness.ts'
import { audience, bearing, claims, forged, issuer, keyPair, setOf } from '../support/auth-tokens.ts'
import { VirtualClock } from '../support/virtual.ts'

const url = 'https://login.test/jwks'

let rsa: Awaited<ReturnType<typeof keyPair>>
let ec: Awaited<ReturnType<typeof keyPair>>
let next: Awaited<ReturnType<typeof keyPair>>

beforeAll(async () => {
  ;[rsa, ec, next] = await Promise.all([
    keyPair('RS256', 'one'),
    keyPair('ES256', 'two'),
    keyPair('ES256', 'three'),
  ])
})

function authenticator(options: Partial<JwtRules & JwtKeySet> = {}) {
  const rules = { jwks: setOf(rsa, ec), algorithms: ['RS256', 'ES256'] as const, audience, issuer }
  return jwtAuthentication({ clock: new VirtualClock(), ...rules, ...options })
}

/** A provider that publishes keys, and how often it was asked. */
function publisher(answer: () => Response | Promise<Response>) {
  const asked: RequestInit[] = []
  const fetch: Fetch = async (to, init) => {
    expect(to).toBe(url)
    asked.push(init)
    return answer()
  }
  return { asked, fetch }
}

describe('a set of public keys', () => {
  test('accepts tokens that one of them has signed', async () => {
    const authenticate = authenticator()
    const caller = { userId: 'ann', expiresAt: claims.exp * 1_000 }
    expect(await authenticate(bearing(await rsa.sign()))).toMatchObject(caller)
    expect(await authenticate(bearing(await ec.sign()))).toMatchObject(caller)
    expect(await authenticate(bearing(await next.sign()))).toEqual({ refused: 'invalid_token' })
  })

  test('is tried key by key if a token names none', async () => {
    const jwks = setOf(ec, next)
    const unnamed = { kid: undefined }
    expect(await authenticator({ jwks })(bearing(await next.sign(claims, unnamed)))).toMatchObject({
      userId: 'ann',
    })
    const other = await keyPair('ES256', 'four')
    expect(await authenticator({ jwks })(bearing(await other.sign(claims, unnamed)))).toEqual({
      refused: 'invalid_token',
    })
  })

  test('invariant 56: never uses a public key as a secret', async () => {
    const keys = [rsa.pem, rsa.pem.trim(), JSON.stringify(rsa.jwk), String(Reflect.get(rsa.jwk, 'n'))]
    for (const key of keys) {
      for (const kid of ['one', undefined]) {
        expect(await authenticator()(bearing(forged({ alg: 'HS256', kid }, claims, key)))).toEqual({
          refused: 'invalid_token',
        })
      }
    }
    const careless = ['RS256', 'HS256'] as unknown as JwtKeySet['algorithms']
    expect(() => authenticator({ algorithms: careless })).toThrow(
      expect.objectContaining({ option: 'algorithms' }),
    )
  })

  test('invariant 56: refuses an algorithm that is not listed, even if the key fits it', async () => {
    const authenticate = authenticator({ algorithms: ['RS256'] })
    expect(await authenticate(bearing(await ec.sign()))).toEqual({ refused: 'invalid_token' })
    expect(await authenticate(bearing(await rsa.sign()))).toMatchObject({ userId: 'ann' })
  })

  test('checks audience and issuer of a token, unless the options say otherwise', async () => {
    const other = await rsa.sign({ ...claims, aud: 'another service' })
    expect(await authenticator()(bearing(other))).toEqual({ refused: 'invalid_token' })
    expect(await authenticator({ audience: null })(bearing(other))).toMatchObject({ userId: 'ann' })
    const elsewhere = await rsa.sign({ ...claims, iss: 'https://elsewhere.test/' })
    expect(await authenticator()(bearing(elsewhere))).toEqual({ refused: 'invalid_token' })
    expect(
      await authenticator()(bearing(await rsa.sign({ ...claims, aud: ['other', audience] }))),
    ).toMatchObject({ userId: 'ann' })
  })

  test('does not fetch keys from an address in a token', async () => {
    const { asked, fetch } = publisher(() => Response.json(setOf(next)))
    const header = { jku: url, x5u: url, jwk: next.jwk, kid: 'three' }
    expect(await authenticator({ fetch })(bearing(await next.sign(claims, header)))).toEqual({
      refused: 'invalid_token',
    })
    expect(asked).toEqual([])
  })
})

describe('a key set at a URL', () => {
  test('is fetched once, and again for an unknown key', async () => {
    let published = setOf(ec)
    const { asked, fetch } = publisher(() => Response.json(published))
    const clock = new VirtualClock()
    const authenticate = authenticator({ jwks: url, fetch, clock })
    const all = await Promise.all([1, 2, 3].map(async () => authenticate(bearing(await ec.sign()))))
    expect(all).toMatchObject([{ userId: 'ann' }, { userId: 'ann' }, { userId: 'ann' }])
    expect(asked).toHaveLength(1)
    published = setOf(ec, next)
    await clock.advance(5_000)
    expect(await authenticate(bearing(await next.sign()))).toMatchObject({ userId: 'ann' })
    expect(asked).toHaveLength(2)
  })

  test('is used for `cacheMs`, and fetched ahead of time', async () => {
    let published = setOf(ec)
    const { asked, fetch } = publisher(() => Response.json(published))
    const clock = new VirtualClock()
    const authenticate = authenticator({ jwks: url, fetch, clock, cacheMs: 1_000_000 })
    await authenticate(bearing(await ec.sign()))
    published = setOf(next)
    await clock.advance(499_999)
    await authenticate(bearing(await ec.sign()))
    expect(asked).toHaveLength(1)
    await clock.advance(1)
    expect(await authenticate(bearing(await ec.sign()))).toMatchObject({ userId: 'ann' })
    await clock.advance(0)
    expect(asked).toHaveLength(2)
    expect(await authenticate(bearing(await next.sign()))).toMatchObject({ userId: 'ann' })
  })

  test('is used while the provider fails, but no longer than `cacheMs`', async () => {
    let isUp = true
    const { asked, fetch } = publisher(() =>
      isUp ? Response.json(setOf(ec)) : new Response('', { status: 500 }),
    )
    const clock = new VirtualClock()
    const authenticate = authenticator({ jwks: url, fetch, clock })
    await authenticate(bearing(await ec.sign()))
    isUp = false
    await clock.advance(59_999)
    expect(await authenticate(bearing(await ec.sign()))).toMatchObject({ userId: 'ann' })
    await clock.advance(1)
    await expect(authenticate(bearing(await ec.sign()))).rejects.toThrow()
    await expect(authenticate(bearing(await ec.sign()))).rejects.toThrow()
    expect(asked).toHaveLength(2)
    isUp = true
    await clock.advance(5_000)
    expect(await authenticate(bearing(await ec.sign()))).toMatchObject({ userId: 'ann' })
  })

  test.each([
    ['is down', () => Promise.reject(new TypeError('fetch failed'))],
    ['answers 500', () => new Response('', { status: 500 })],
    ['answers with a page', () => new Response('<html>')],
    ['answers with another document', () => Response.json({ keys: 'none' })],
    ['redirects', () => Response.redirect('https://elsewhere.test/')],
  ])('that is unavailable signs nobody out: it %s', async (_, answer) => {
    const { fetch } = publisher(answer)
    const { ask, lines } = serviceOf({ authenticate: authenticator({ jwks: url, fetch }) })
    const token = await ec.sign()
    const response = await ask('bootstrap', { user: '', headers: { authorization: `Bearer ${token}` } })
    expect(response.status).toBe(503)
    expect((await response.json()).error.code).toBe('unavailable')
    expect(lines.join()).not.toContain(token.slice(-20))
  })

  test('that does not answer times out', async () => {
    let signal: AbortSignal | null | undefined
    const fetch: Fetch = (_, init) => {
      signal = init.signal
      return new Promise(() => {})
    }
    const clock = new VirtualClock()
    const authenticate = authenticator({ jwks: url, fetch, clock, timeoutMs: 20 })
    const answer = expect(authenticate(bearing(await ec.sign()))).rejects.toMatchObject({ code: 'timeout' })
    await clock.advance(20)
    await answer
    expect(signal?.aborted).toBe(true)
  })
})

test.each([
  ['algorithms', { algorithms: [] }],
  ['algorithms', { algorithms: ['none'] }],
  ['audience', { audience: undefined }],
  ['jwks', { jwks: '/jwks' }],
  ['jwks', { jwks: {} }],
  ['jwks', { secret: 'a secret that is long enough to sign with' }],
])('a wrong `%s` is refused at the start: %j', (option, wrong) => {
  const options = { jwks: url, algorithms: ['ES256'], audience: null, ...wrong } as unknown as JwtKeySet
  expect(() => jwtAuthentication(options)).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option }),
  )
})
