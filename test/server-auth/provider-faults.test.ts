import { describe, expect, test } from 'vitest'
import type { Fetch } from '../../src/base/environment.ts'
import {
  type IntrospectionOptions,
  introspection,
  oauthAuthentication,
  type ProfileOf,
  userinfo,
} from '../../src/server/index.ts'
import { serviceOf } from '../server/harness.ts'
import { bearing } from '../support/auth-tokens.ts'
import { VirtualClock } from '../support/virtual.ts'

const token = 'an-access-token-of-ann'
const clientSecret = 'the-secret-of-the-service'
const url = 'https://login.test/ask'
const clock = new VirtualClock()

const kinds: readonly (readonly [string, (fetch: Fetch) => ProfileOf])[] = [
  [
    'introspection',
    (fetch) => introspection({ url, clientId: 'sync', clientSecret, audience: null, fetch, clock }),
  ],
  ['userinfo', (fetch) => userinfo({ url, fetch, clock })],
]

const silence: Fetch = (_, { signal }) =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

const answering =
  (claims: unknown, init?: ResponseInit): Fetch =>
  async () =>
    Response.json(claims, init)

const found = { findOrCreate: async ({ subject }: { subject: string }) => ({ userId: subject }), clock }

describe.each(kinds)('%s', (kind, make) => {
  test.each<[string, Fetch]>([
    ['cannot be reached', () => Promise.reject(new TypeError(`connect to ${token} ${clientSecret}`))],
    ['answers 500', answering({}, { status: 500 })],
    ['answers 502 with a page', async () => new Response('<html>', { status: 502 })],
    ['answers 429', answering({}, { status: 429 })],
    ['answers with a page', async () => new Response('<html>')],
    ['answers with an empty body', async () => new Response('')],
    ['answers 204', async () => new Response(null, { status: 204 })],
    ['answers null', answering(null)],
    ['answers with a string', answering(token)],
    ['answers with a list', answering([])],
    [
      'breaks off',
      async () => new Response(new ReadableStream({ start: (body) => body.error(new Error('cut')) })),
    ],
    ['redirects', async () => Response.redirect('https://elsewhere.test/')],
  ])(
    'invariant 56: a provider that %s accepts nobody, signs nobody out, and is logged without secrets',
    async (_, fetch) => {
      const { ask, lines } = serviceOf({
        authenticate: oauthAuthentication({ profileOf: make(fetch), ...found }),
      })
      const response = await ask('bootstrap', { user: '', headers: { authorization: `Bearer ${token}` } })
      expect(response.status).toBe(503)
      expect(response.headers.get('Retry-After')).not.toBeNull()
      expect(await response.json()).toMatchObject({ error: { code: 'unavailable' } })
      expect(lines).toHaveLength(1)
      for (const secret of [token, clientSecret]) expect(lines.join()).not.toContain(secret)
    },
  )

  test('invariant 56: a provider that does not answer in time accepts nobody, and is not waited for', async () => {
    let aborted = false
    const fetch: Fetch = (to, init) => {
      init.signal?.addEventListener('abort', () => {
        aborted = true
      })
      return silence(to, init)
    }
    const { ask } = serviceOf({ authenticate: oauthAuthentication({ profileOf: make(fetch), ...found }) })
    const answer = ask('bootstrap', { user: '', headers: { authorization: `Bearer ${token}` } })
    const began = clock.now()
    expect((await clock.until(answer)).status).toBe(503)
    expect(clock.now() - began).toBe(5_000)
    expect(aborted).toBe(true)
  })

  test('does not follow a redirect with the token', async () => {
    const seen: RequestInit[] = []
    const fetch: Fetch = async (_, init) => {
      seen.push(init)
      return Response.json({ active: true, sub: 'ann' })
    }
    await make(fetch)(token)
    expect(seen).toMatchObject([{ redirect: 'manual' }])
  })

  test.each([undefined, '', 7, null])('a profile with the subject %j belongs to nobody', async (sub) => {
    const asked = make(answering({ active: true, sub }))(token)
    // Not every token of introspection is a user's; but every profile is.
    if (kind === 'introspection') expect(await asked).toBeNull()
    else await expect(asked).rejects.toMatchObject({ name: 'ProtocolError', code: 'bad_envelope' })
  })
})

test.each([400, 401, 403])('a userinfo response of %d refuses the token', async (status) => {
  expect(await userinfo({ url, fetch: answering({}, { status }) })(token)).toBeNull()
})

describe('introspection', () => {
  const ask = (claims: object, options: Partial<IntrospectionOptions> = {}, init?: ResponseInit) =>
    introspection({
      url,
      clientId: 'sync',
      clientSecret,
      audience: null,
      fetch: answering(claims, init),
      ...options,
    })(token)
  const active = { active: true, sub: 'ann' }

  test('sends the client’s credentials and the token in the right places', async () => {
    const seen: [string, RequestInit][] = []
    const fetch: Fetch = async (...call) => {
      seen.push(call)
      return Response.json({ active: false })
    }
    await introspection({ url, clientId: 'a b', clientSecret: 'ü:+', audience: null, fetch })('to&ken=1')
    const [[to, init] = ['', {}]] = seen
    expect(to).toBe(url)
    expect(init).toMatchObject({ method: 'POST', body: 'token=to%26ken%3D1&token_type_hint=access_token' })
    expect(new Headers(init.headers).get('authorization')).toBe(`Basic ${btoa('a+b:%C3%BC%3A%2B')}`)
  })

  test('checks the audience, the type and the scope of a token', async () => {
    expect(await ask({ ...active, aud: ['a', 'b'] }, { audience: 'b' })).toMatchObject({ subject: 'ann' })
    expect(await ask({ ...active, aud: ['a'] }, { audience: 'b' })).toBeNull()
    expect(await ask({ ...active, aud: 'bb' }, { audience: 'b' })).toBeNull()
    for (const token_type of ['bearer', 'Bearer', null]) {
      expect(await ask({ ...active, token_type })).toMatchObject({ subject: 'ann' })
    }
    expect(await ask({ ...active, token_type: 'DPoP' })).toBeNull()
    expect(await ask({ ...active, token_type: {} })).toBeNull()
    expect(await ask({ ...active, scope: 'a b' }, { scope: 'b' })).toMatchObject({ subject: 'ann' })
    expect(await ask({ ...active, scope: 'a bc' }, { scope: 'b' })).toBeNull()
    expect(await ask(active, { scope: 'b' })).toBeNull()
  })

  test('without `active` in the response is a fault', async () => {
    for (const claims of [{ sub: 'ann' }, { ...active, active: 'true' }, { ...active, active: 1 }]) {
      await expect(ask(claims)).rejects.toMatchObject({ name: 'ProtocolError' })
    }
  })

  test('refuses a token that is not active, whatever else the response says', async () => {
    expect(await ask({ ...active, active: false })).toBeNull()
  })

  test('refuses a token of a kind that it does not look up; another 400 is a fault', async () => {
    expect(await ask({ error: 'unsupported_token_type' }, {}, { status: 400 })).toBeNull()
    await expect(ask({ error: 'invalid_request' }, {}, { status: 400 })).rejects.toMatchObject({
      status: 400,
    })
  })

  test('requires an audience and a URL', () => {
    const options = { url, clientId: 'sync', clientSecret, audience: null }
    const without = { ...options, audience: undefined } as unknown as IntrospectionOptions
    expect(() => introspection(without)).toThrow(expect.objectContaining({ option: 'audience' }))
    expect(() => introspection({ ...options, url: '/ask' })).toThrow(
      expect.objectContaining({ option: 'url' }),
    )
    expect(() => userinfo({ url: '' })).toThrow(expect.objectContaining({ option: 'url' }))
  })
})

describe('an access token', () => {
  const check = (claims: object, findOrCreate = found.findOrCreate) => {
    const profileOf = introspection({
      url,
      clientId: 'sync',
      clientSecret,
      audience: null,
      fetch: answering(claims),
    })
    return oauthAuthentication({ profileOf, findOrCreate, clock })(bearing(token))
  }
  const active = { active: true, sub: 'ann' }
  const inSeconds = (seconds: number) => clock.now() / 1_000 + seconds

  test('expires when its provider says', async () => {
    expect(await check({ ...active, exp: inSeconds(60) })).toEqual({
      userId: 'ann',
      expiresAt: clock.now() + 60_000,
    })
    expect(await check({ ...active, exp: inSeconds(0) })).toEqual({ refused: 'token_expired' })
  })

  test('that has expired creates no user', async () => {
    const never = () => Promise.reject(new Error('created'))
    expect(await check({ ...active, exp: inSeconds(0) }, never)).toEqual({ refused: 'token_expired' })
  })

  test('without a known expiry is checked again within the hour', async () => {
    expect(await check(active)).toEqual({ userId: 'ann', expiresAt: clock.now() + 3_600_000 })
  })

  test.each([0, Number.NaN, '3600000' as unknown as number])(
    'is refused a `recheckMs` of %j',
    (recheckMs) => {
      const profileOf = userinfo({ url, fetch: answering(active) })
      expect(() => oauthAuthentication({ profileOf, ...found, recheckMs })).toThrow(
        expect.objectContaining({ name: 'ConfigurationError', option: 'recheckMs' }),
      )
    },
  )

  test('whose user cannot be looked up is not refused', async () => {
    await expect(check(active, () => Promise.reject(new Error('no database')))).rejects.toThrow('no database')
  })
})
