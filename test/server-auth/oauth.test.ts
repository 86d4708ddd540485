import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import {
  type Authenticate,
  anyOf,
  cached,
  forTokens,
  introspection,
  jwtAuthentication,
  looksLikeJwt,
  MemoryLog,
  type OAuthProfile,
  oauthAuthentication,
  userinfo,
} from '../../src/server/index.ts'
import { serveOn } from '../interface/site.ts'
import { FakeSocket, insert, serviceOf } from '../server/harness.ts'
import { type AuthProvider, audience, startAuthProvider } from '../support/auth-provider.ts'
import { bearing } from '../support/auth-tokens.ts'
import { VirtualClock } from '../support/virtual.ts'

let provider: AuthProvider

beforeAll(async () => {
  provider = await startAuthProvider()
})

afterAll(() => provider.close())

/** Local users, by what the provider calls them. */
function directory() {
  const users = new Map<string, string>()
  const findOrCreate = async ({ subject }: OAuthProfile) => {
    if (subject === 'banned') return null
    const userId = users.get(subject) ?? `user ${users.size + 1}`
    users.set(subject, userId)
    return { userId }
  }
  return { users, findOrCreate }
}

const byIntrospection = (options: { audience: string | null; scope?: string; clientSecret?: string }) =>
  introspection({ url: provider.introspectionUrl, ...provider.service, ...options })

const byUserinfo = () => userinfo({ url: provider.userinfoUrl })

describe('with a real authorization server', () => {
  test('an access token names a local user, who is created once and found later', async () => {
    const { users, findOrCreate } = directory()
    for (const profileOf of [byIntrospection({ audience: null }), byUserinfo()]) {
      const authenticate = oauthAuthentication({ profileOf, findOrCreate })
      for (const subject of ['ann', 'bob', 'ann']) {
        const { access_token } = await provider.signIn(subject)
        expect(await authenticate(bearing(access_token))).toMatchObject({ userId: users.get(subject) })
      }
    }
    expect([...users]).toEqual([
      ['ann', 'user 1'],
      ['bob', 'user 2'],
    ])
  })

  test.each([
    ['introspection', () => byIntrospection({ audience: null })],
    ['userinfo', byUserinfo],
  ])('over HTTP and sockets, users see their records, checked by %s', async (_, profileOf) => {
    const authenticate = oauthAuthentication({
      profileOf: profileOf(),
      findOrCreate: async ({ subject }) => ({ userId: subject }),
    })
    const site = await serveOn(new MemoryLog(resolveEnvironment()), { authenticate })
    await site.service.write([insert('1'), insert('2', {}, 'bob')])
    const { access_token: good } = await provider.signIn('ann')
    const { access_token: revoked } = await provider.signIn('ann')
    await provider.revoke(revoked)
    const answer = (token: string) =>
      site.ask('bootstrap', { user: '', headers: { authorization: `Bearer ${token}` } })
    expect((await (await answer(good)).json()).rows).toMatchObject([{ id: '1' }])
    expect((await answer(revoked)).status).toBe(401)
    expect((await site.connect({}, `?token=${revoked}`)).status).toBe(401)
    const { listening } = await site.connect({}, `?token=${good}`)
    await site.service.write([insert('3'), insert('4', {}, 'bob')])
    await expect.poll(() => listening?.pushes).toMatchObject([{ frames: [{ id: '3' }] }])
    for (const token of [good, revoked]) expect(site.lines.join('')).not.toContain(token)
  })

  test('a caller expires when introspection says so', async () => {
    const { access_token } = await provider.signIn('ann')
    const authenticate = oauthAuthentication({
      profileOf: byIntrospection({ audience: null }),
      findOrCreate: directory().findOrCreate,
    })
    const { expiresAt } = (await authenticate(bearing(access_token))) as { expiresAt: number }
    expect(Math.abs(expiresAt - (Date.now() + 3_600_000))).toBeLessThan(10_000)
  })

  test('a token that is revoked, invented, or of another kind is refused', async () => {
    const { access_token, id_token } = await provider.signIn('ann')
    await provider.revoke(access_token)
    const { findOrCreate, users } = directory()
    for (const profileOf of [byIntrospection({ audience: null }), byUserinfo()]) {
      const authenticate = oauthAuthentication({ profileOf, findOrCreate })
      for (const token of [access_token, 'made-up', id_token, 'a.b.c', 'x'.repeat(5_000)]) {
        expect(await authenticate(bearing(token))).toEqual({ refused: 'invalid_token' })
      }
    }
    expect(users.size).toBe(0)
  })

  test('invariant 56: a token for another service is refused, and so is a refresh token', async () => {
    const meant = await provider.signIn('ann', { resource: audience })
    const other = await provider.signIn('ann')
    const profileOf = byIntrospection({ audience })
    expect(await profileOf(meant.access_token)).toMatchObject({ subject: 'ann', claims: { aud: audience } })
    expect(await profileOf(other.access_token)).toBeNull()
    expect(await profileOf(meant.refresh_token)).toBeNull()
    expect(await byIntrospection({ audience, scope: 'sync' })(meant.access_token)).toMatchObject({
      subject: 'ann',
    })
    expect(await byIntrospection({ audience, scope: 'syn' })(meant.access_token)).toBeNull()
  })

  test('a user whom `findOrCreate` refuses is refused', async () => {
    const { access_token } = await provider.signIn('banned')
    const authenticate = oauthAuthentication({
      profileOf: byUserinfo(),
      findOrCreate: directory().findOrCreate,
    })
    expect(await authenticate(bearing(access_token))).toEqual({ refused: 'invalid_token' })
  })

  test('signed tokens of the provider are checked with its published keys, and not sent to it', async () => {
    const { access_token } = await provider.signIn('ann', { resource: audience, format: 'jwt' })
    const never: Authenticate = () => Promise.reject(new Error('asked'))
    const authenticate = anyOf(
      forTokens(looksLikeJwt, jwtAuthentication({ jwks: provider.jwksUrl, algorithms: ['RS256'], audience })),
      forTokens((token) => !looksLikeJwt(token), never),
    )
    expect(await authenticate(bearing(access_token))).toMatchObject({ userId: 'ann' })
    expect(await authenticate(bearing(`${access_token.slice(0, -5)}AAAAA`))).toEqual({
      refused: 'invalid_token',
    })
  })

  test('a wrong client secret signs nobody out, and is not logged', async () => {
    const { access_token } = await provider.signIn('ann')
    const profileOf = byIntrospection({ audience: null, clientSecret: 'the-wrong-secret' })
    const authenticate = oauthAuthentication({ profileOf, findOrCreate: directory().findOrCreate })
    const { ask, lines } = serviceOf({ authenticate })
    const response = await ask('bootstrap', {
      user: '',
      headers: { authorization: `Bearer ${access_token}` },
    })
    expect(response.status).toBe(503)
    expect(lines.join()).toContain('status 401')
    expect(lines.join()).not.toContain('the-wrong-secret')
    expect(lines.join()).not.toContain(access_token)
  })

  test('invariant 48: a socket closes when the provider’s token expires, and when it is revoked there and here', async () => {
    const clock = new VirtualClock(Date.now())
    const profileOf = byIntrospection({ audience: null })
    const authenticate = cached(
      oauthAuthentication({ profileOf, findOrCreate: directory().findOrCreate, clock }),
      { clock },
    )
    const { service } = serviceOf({ authenticate, clock })
    const connect = async (token: string) => {
      const socket = new FakeSocket()
      await service.connect(socket, new Request(`https://sync.test/sync/v1/ws?token=${token}`))
      await clock.advance(0)
      return socket
    }
    const [first, second] = [await provider.signIn('ann'), await provider.signIn('bob')]
    const [ann, bob] = [await connect(first.access_token), await connect(second.access_token)]
    await provider.revoke(first.access_token)
    const isAnn = ({ userId }: { userId: string }) => userId === 'user 1'
    authenticate.forget(isAnn)
    service.revoke(isAnn)
    expect([ann.closed, bob.closed]).toEqual([[4401, 'revoked'], undefined])
    expect((await connect(first.access_token)).closed).toEqual([4401, 'unauthenticated'])
    await clock.advance(3_590_000)
    expect(bob.closed).toBeUndefined()
    await clock.advance(11_000)
    expect(bob.closed).toEqual([4401, 'token_expired'])
  })
})
