import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { resolveEnvironment } from '../../../src/base/environment.default.ts'
import {
  type Caller,
  introspection,
  jwtAuthentication,
  memoryKeyStore,
  oauthAuthentication,
  signToken,
} from '../../../src/server/index.ts'
import { kinds as credentialKinds } from '../../support/auth-kinds.ts'
import type { Kind } from '../grounds.ts'
import { type Serve, secret } from '../site.ts'
import { answersTo, letIn, refusedWith } from './credentials.ts'

const day = 86_400_000

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export function describeCredentialKinds(kind: Kind, serve: Serve): void {
  describe.each(credentialKinds)(`%s, on ${kind}`, (_, make) => {
    test('lets its holder in everywhere, and refuses with 401 what is missing, invalid or past its end', async () => {
      const { clock } = resolveEnvironment()
      const { authenticate, header, good, expired, invalid } = await make(clock)
      const site = await serve({ authenticate })
      const headers = (credential: string) => ({
        [header]: header === 'authorization' ? `Bearer ${credential}` : credential,
      })
      expect(await answersTo(site, headers(good))).toEqual(letIn)
      expect(await answersTo(site, {})).toEqual(refusedWith('no_token'))
      expect(await answersTo(site, headers(invalid))).toEqual(refusedWith('invalid_token'))
      expect(await answersTo(site, headers(expired))).toEqual(refusedWith('token_expired'))
      const { message } = JSON.parse((await site.connect()).body).error
      expect(message).toBe('No token was provided.')
    })
  })

  describe(`A JSON Web Token, on ${kind}`, () => {
    const statusOf = async (options: object, token: string) => {
      const site = await serve({ authenticate: jwtAuthentication({ secret, ...options }) })
      const [[status] = []] = await answersTo(site, bearer(token))
      return status
    }

    test('without an end is refused', async () => {
      const token = new SignJWT({ sub: 'ann' }).setProtectedHeader({ alg: 'HS256' }).setIssuedAt()
      expect(await statusOf({}, await token.sign(Buffer.from(secret)))).toBe(401)
    })

    test('may live for 7 days, and for 30, and no longer unless the deployment says so', async () => {
      const living = (lifetimeMs: number) => signToken({ secret, userId: 'ann', lifetimeMs })
      expect(await statusOf({}, await living(7 * day))).toBe(200)
      expect(await statusOf({}, await living(30 * day))).toBe(200)
      expect(await statusOf({}, await living(31 * day))).toBe(401)
      expect(await statusOf({ maxLifetimeMs: 31 * day }, await living(31 * day))).toBe(200)
      expect(await statusOf({ maxLifetimeMs: 7 * day }, await living(8 * day))).toBe(401)
    })

    test('names its user in whichever claim a function of the deployment reads', async () => {
      const caller = (claims: object) => ('uid' in claims ? { userId: String(claims.uid) } : null)
      const site = await serve({ authenticate: jwtAuthentication({ secret, caller }) })
      await site.service.write([{ op: 'i', t: 'Todo', id: '1', p: { userId: 'u7' } }])
      const sign = (claims: Record<string, string>) =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256' })
          .setExpirationTime('7 days')
          .sign(Buffer.from(secret))
      const rowsOf = async (token: string) =>
        (await site.json('bootstrap', { user: '', headers: bearer(token) })).rows
      expect(await rowsOf(await sign({ uid: 'u7' }))).toMatchObject([{ id: '1' }])
      expect(await rowsOf(await sign({ sub: 'u7' }))).toBeUndefined()
    })

    test('is taken under the old secret too while the secret is being exchanged', async () => {
      const next = 'the next secret, which is long enough as well'
      const old = await signToken({ secret, userId: 'ann' })
      expect(await statusOf({ secret: [next, secret] }, old)).toBe(200)
      expect(await statusOf({ secret: next }, old)).toBe(401)
    })
  })

  describe(`An API key, on ${kind}`, () => {
    test('that nobody has given out is refused, and so is one that was made inactive', async () => {
      const [, make] = credentialKinds.find(([name]) => name === 'an API key') ?? []
      if (!make) throw new Error('There are no API keys.')
      const { authenticate, good, invalid: inactive } = await make(resolveEnvironment().clock)
      const { secret: unknown } = await memoryKeyStore().create({ userId: 'ann' })
      const site = await serve({ authenticate })
      expect(await answersTo(site, { 'x-api-key': good })).toEqual(letIn)
      for (const key of [inactive, unknown]) {
        expect(await answersTo(site, { 'x-api-key': key })).toEqual(refusedWith('invalid_token'))
      }
    })
  })

  describe(`A provider’s access token, on ${kind}`, () => {
    test('is checked with the provider each time, and its local user is made at first and found from then on', async () => {
      let checks = 0
      const users = new Map<string, Caller>()
      const made: string[] = []
      const profileOf = introspection({
        url: 'https://login.test/ask',
        clientId: 'sync',
        clientSecret: 's',
        audience: null,
        fetch: async () => {
          checks += 1
          return Response.json({ active: true, sub: 'ann@login.test', exp: Date.now() / 1_000 + 60 })
        },
      })
      const findOrCreate = async ({ subject }: { readonly subject: string }) => {
        const known = users.get(subject)
        if (known) return known
        const user = { userId: `local-${users.size}` }
        made.push(subject)
        users.set(subject, user)
        return user
      }
      const site = await serve({ authenticate: oauthAuthentication({ profileOf, findOrCreate }) })
      await site.service.write([{ op: 'i', t: 'Todo', id: '1', p: { userId: 'local-0' } }])
      const answer = await site.json('bootstrap', { user: '', headers: bearer('opaque') })
      expect(answer.rows).toMatchObject([{ id: '1' }])
      expect(await answersTo(site, bearer('opaque'))).toEqual(letIn)
      expect([checks, made]).toEqual([6, ['ann@login.test']])
    })
  })
}
