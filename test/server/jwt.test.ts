import { createHmac } from 'node:crypto'
import { generateKeyPair, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import {
  type JwtRules,
  type JwtSecret,
  jwtAuthentication,
  type SignTokenOptions,
  signToken,
} from '../../src/server/index.ts'
import { VirtualClock } from '../support/virtual.ts'
import { serviceOf } from './harness.ts'

const secret = 'a secret that is long enough to sign with'
const day = 86_400_000
const clock = new VirtualClock()
const nowSeconds = clock.now() / 1_000

const check = (token: string, options: Partial<JwtRules & JwtSecret> = {}) =>
  jwtAuthentication({ secret, clock, ...options })(
    new Request('https://sync.test/', { headers: { authorization: `Bearer ${token}` } }),
  )

const sign = (options: Partial<SignTokenOptions> = {}) =>
  signToken({ secret, clock, userId: 'ann', ...options })

/** A token put together by hand, whatever its header says. */
function forged(header: object, claims: object, key: string | undefined = secret): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part(header)}.${part(claims)}`
  return `${signed}.${key === undefined ? '' : createHmac('sha256', key).update(signed).digest('base64url')}`
}

const claims = { sub: 'ann', exp: nowSeconds + 3_600 }

test('a token names its user and organization, and expires at its `exp`', async () => {
  const token = await sign({ organizationId: 'acme', lifetimeMs: day })
  expect(await check(token)).toEqual({ userId: 'ann', organizationId: 'acme', expiresAt: clock.now() + day })
  expect(await check(forged({ alg: 'HS256' }, claims))).toMatchObject({ userId: 'ann' })
  expect(await check(await sign())).toMatchObject({ expiresAt: clock.now() + 7 * day })
})

test('an organization that is not a string is ignored', async () => {
  for (const org of [7, {}, null]) {
    expect(await check(forged({ alg: 'HS256' }, { ...claims, org }))).toEqual({
      userId: 'ann',
      organizationId: undefined,
      expiresAt: claims.exp * 1_000,
    })
  }
})

describe('the owners in a token', () => {
  const owners = ['user:1', 'team:a']
  const token = (more: object) => forged({ alg: 'HS256' }, { ...claims, ...more })

  test('are the claim `owners`, which `signToken` writes', async () => {
    expect(await check(await sign({ owners }))).toMatchObject({ userId: 'ann', owners })
    expect(await check(token({ owners: [] }))).toMatchObject({ owners: [] })
    expect(await check(token({}))).not.toHaveProperty('owners')
  })

  test('can be another claim, or the result of a function', async () => {
    expect(await check(token({ teams: owners }), { owners: 'teams' })).toMatchObject({ owners })
    const ofTeams = async ({ sub }: { readonly sub?: string }) => [`user:${sub}`]
    expect(await check(token({}), { owners: ofTeams })).toMatchObject({ owners: ['user:ann'] })
  })

  test('are those of `caller`, unless `owners` is set, too', async () => {
    const caller = () => ({ userId: 'ann', owners: ['user:ann'] })
    expect(await check(token({ owners }), { caller })).toMatchObject({ owners: ['user:ann'] })
    expect(await check(token({ owners }), { caller, owners: 'owners' })).toMatchObject({ owners })
  })

  test.each([['team:a'], [null], [['team:a', 7]], [['']], [{}], [['x'.repeat(256)]]])(
    'are refused with a sentence that says why, if they are %j',
    async (wrong) => {
      const authenticate = jwtAuthentication({ secret, clock })
      const { service } = serviceOf({ authenticate })
      const headers = { Authorization: `Bearer ${token({ owners: wrong })}` }
      const response = await service.fetch(new Request('https://h/sync/v1/bootstrap', { headers }))
      expect(response.status).toBe(401)
      expect((await response.json()).error).toEqual({
        code: 'invalid_token',
        message: 'The claim `owners` of the token must be an array of texts, each of 1 to 255 characters.',
      })
    },
  )

  test('cannot be signed if they are not strings', async () => {
    await expect(sign({ owners: [''] })).rejects.toMatchObject({
      name: 'ConfigurationError',
      option: 'owners',
    })
  })

  test('are refused in the options unless they are a claim name or a function', () => {
    expect(() => jwtAuthentication({ secret, owners: '' })).toThrow(
      expect.objectContaining({ option: 'owners' }),
    )
  })
})

test('the option `caller` can map the claims to a caller', async () => {
  const token = forged({ alg: 'HS256' }, { ...claims, email: 'ann@acme.test' })
  expect(await check(token, { caller: ({ email }) => ({ userId: String(email) }) })).toMatchObject({
    userId: 'ann@acme.test',
    expiresAt: claims.exp * 1_000,
  })
  expect(await check(token, { caller: async () => null })).toEqual({ refused: 'invalid_token' })
})

test('the option `caller` cannot extend the lifetime of a token', async () => {
  const token = forged({ alg: 'HS256' }, claims)
  const endingAt = (expiresAt: number | undefined) =>
    check(token, { caller: () => ({ userId: 'ann', expiresAt }) })
  const end = claims.exp * 1_000
  expect(await endingAt(end + day)).toMatchObject({ expiresAt: end })
  expect(await endingAt(undefined)).toMatchObject({ expiresAt: end })
  expect(await endingAt(end - 1_000)).toMatchObject({ expiresAt: end - 1_000 })
  expect(await endingAt(clock.now())).toEqual({ refused: 'token_expired' })
})

describe('a forged or careless token', () => {
  test('invariant 56: a token with the algorithm `none` is refused', async () => {
    expect(await check(forged({ alg: 'none' }, claims, undefined))).toEqual({ refused: 'invalid_token' })
    expect(await check(forged({ alg: 'none' }, claims))).toEqual({ refused: 'invalid_token' })
  })

  test('invariant 56: a token with another algorithm is refused, whatever signed it', async () => {
    const key = new TextEncoder().encode(secret)
    const longer = new SignJWT(claims).setProtectedHeader({ alg: 'HS512' })
    expect(await check(await longer.sign(key))).toEqual({ refused: 'invalid_token' })
    const { privateKey } = await generateKeyPair('ES256')
    const asymmetric = new SignJWT(claims).setProtectedHeader({ alg: 'ES256' })
    expect(await check(await asymmetric.sign(privateKey))).toEqual({ refused: 'invalid_token' })
    expect(await check(forged({ alg: 'RS256' }, claims))).toEqual({ refused: 'invalid_token' })
  })

  test('invariant 56: a token without `exp` is refused', async () => {
    expect(await check(forged({ alg: 'HS256' }, { sub: 'ann' }))).toEqual({ refused: 'invalid_token' })
  })

  test('invariant 56: a token with too long a lifetime is refused', async () => {
    expect(await check(await sign({ lifetimeMs: 30 * day }))).toMatchObject({ userId: 'ann' })
    expect(await check(await sign({ lifetimeMs: 31 * day }))).toEqual({ refused: 'invalid_token' })
    const undated = forged({ alg: 'HS256' }, { sub: 'ann', exp: nowSeconds + 31 * 86_400 })
    expect(await check(undated)).toEqual({ refused: 'invalid_token' })
    const later = new VirtualClock()
    const long = await sign({ clock: later, lifetimeMs: 31 * day })
    await later.advance(2 * day)
    expect(await check(long, { clock: later })).toEqual({ refused: 'invalid_token' })
    const inDays = (days: number) => nowSeconds + days * 86_400
    const dated = (from: number, till: number) =>
      check(forged({ alg: 'HS256' }, { sub: 'ann', iat: inDays(from), exp: inDays(till) }))
    expect(await dated(-28, 2)).toMatchObject({ userId: 'ann' })
    expect(await dated(-29, 2)).toEqual({ refused: 'invalid_token' })
    const iat = nowSeconds + 40 * 86_400
    const datedAhead = forged({ alg: 'HS256' }, { sub: 'ann', iat, exp: iat + 3_600 })
    expect(await check(datedAhead)).toEqual({ refused: 'invalid_token' })
  })

  test('invariant 56: a token for another audience or from another issuer is refused', async () => {
    const token = forged({ alg: 'HS256' }, { ...claims, aud: 'other', iss: 'someone' })
    expect(await check(token, { audience: 'sync' })).toEqual({ refused: 'invalid_token' })
    expect(await check(token, { issuer: 'us' })).toEqual({ refused: 'invalid_token' })
    expect(await check(token, { audience: 'other', issuer: 'someone' })).toMatchObject({ userId: 'ann' })
  })

  test('invariant 56: a refused token is never logged', async () => {
    const { ask, lines } = serviceOf({ authenticate: jwtAuthentication({ secret, clock }) })
    const token = forged({ alg: 'none' }, claims, undefined)
    const response = await ask('bootstrap', { user: '', headers: { authorization: `Bearer ${token}` } })
    expect(response.status).toBe(401)
    expect(lines).toHaveLength(1)
    expect(lines.join()).not.toContain(token.slice(0, 12))
    expect(await response.text()).not.toContain(token.slice(0, 12))
  })
})

test('a token is refused from the moment of its `exp`', async () => {
  const own = new VirtualClock()
  const token = await sign({ clock: own, lifetimeMs: 1_000 })
  expect(await check(token, { clock: own })).toMatchObject({ userId: 'ann' })
  await own.advance(1_000)
  expect(await check(token, { clock: own })).toEqual({ refused: 'token_expired' })
})

test.each([
  'nonsense',
  'a.b.c',
  forged({ alg: 'HS256' }, claims, 'another secret of at least 32 bytes'),
  forged({ alg: 'HS256' }, { exp: claims.exp }),
])('an invalid token is refused: %s', async (token) => {
  expect(await check(token)).toEqual({ refused: 'invalid_token' })
})

test('without a token, the response says so', async () => {
  const ask = (headers: Record<string, string>) =>
    jwtAuthentication({ secret, clock })(new Request('https://sync.test/', { headers }))
  expect(await ask({})).toEqual({ refused: 'no_token' })
  expect(await ask({ authorization: 'Basic YTpi' })).toEqual({ refused: 'invalid_token' })
})

test('while a secret is rotated, tokens of the old secret are accepted', async () => {
  const next = 'the secret that comes after the first one'
  const both = { secret: [next, secret] }
  expect(await check(await sign(), both)).toMatchObject({ userId: 'ann' })
  expect(await check(await sign({ secret: next }), both)).toMatchObject({ userId: 'ann' })
  expect(await check(await sign(), { secret: next })).toEqual({ refused: 'invalid_token' })
  for (const own of both.secret) {
    expect(await check(await sign({ secret: own, lifetimeMs: -day }), both)).toEqual({
      refused: 'token_expired',
    })
  }
})

test('a secret that is too short is refused when the service is set up', () => {
  for (const wrong of ['x'.repeat(31), [], ['short'], [secret, 'short']]) {
    expect(() => jwtAuthentication({ secret: wrong })).toThrow(expect.objectContaining({ option: 'secret' }))
  }
  // It is bytes that count.
  expect(() => jwtAuthentication({ secret: 'é'.repeat(15) })).toThrow('at least 32 bytes')
  expect(jwtAuthentication({ secret: 'é'.repeat(16) })).toBeTypeOf('function')
})

test('a secret that is not set is reported as such, with a command that makes one', () => {
  expect(() => jwtAuthentication({ secret: '' })).toThrow('`secret` is not set')
  expect(() => jwtAuthentication({ secret: '' })).toThrow('openssl rand -hex 32')
})

test.each(['issuer', 'audience'])('an empty %s is refused when the service is set up', (option) => {
  expect(() => jwtAuthentication({ secret, [option]: '' })).toThrow(expect.objectContaining({ option }))
})

test.each(['7d', Number.NaN, 0])(
  'a `maxLifetimeMs` of %s is refused when the service is set up',
  (maxLifetimeMs) => {
    const options = { secret, maxLifetimeMs: maxLifetimeMs as number }
    expect(() => jwtAuthentication(options)).toThrow(expect.objectContaining({ option: 'maxLifetimeMs' }))
  },
)

test('without a secret and keys, the error says that one of them is missing', () => {
  const withNeither = () => jwtAuthentication({} as never)
  expect(withNeither).toThrow(
    expect.objectContaining({ option: 'secret', message: expect.stringContaining('`jwks`') }),
  )
})
