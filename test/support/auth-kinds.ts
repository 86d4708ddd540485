import type { Clock } from '../../src/base/environment.ts'
import {
  type Authenticate,
  apiKeyAuthentication,
  introspection,
  jwtAuthentication,
  memoryKeyStore,
  memorySessionStore,
  oauthAuthentication,
  sessionAuthentication,
  signToken,
} from '../../src/server/index.ts'
import { keyPair, secret, setOf } from './auth-tokens.ts'

/** One way to authenticate, with credentials of `ann` that end in a minute and others that nobody should have. */
export interface Kind {
  readonly authenticate: Authenticate
  readonly header: 'authorization' | 'x-api-key'
  readonly good: string
  readonly expired: string
  readonly invalid: string
}

const aMinute = 60_000

const makers: { readonly [name: string]: (clock: Clock) => Promise<Kind> } = {
  async 'a JWT and a secret'(clock) {
    const sign = (lifetimeMs: number, own = secret) =>
      signToken({ secret: own, userId: 'ann', lifetimeMs, clock })
    return {
      authenticate: jwtAuthentication({ secret, clock }),
      header: 'authorization',
      good: await sign(aMinute),
      expired: await sign(-aMinute),
      invalid: await sign(aMinute, 'another secret of at least 32 bytes'),
    }
  },
  async 'a JWT and public keys'(clock) {
    const [pair, other] = [await keyPair('ES256', 'one'), await keyPair('ES256', 'one')]
    const claims = (ms: number) => ({ sub: 'ann', exp: Math.round((clock.now() + ms) / 1_000) })
    return {
      authenticate: jwtAuthentication({ jwks: setOf(pair), algorithms: ['ES256'], audience: null, clock }),
      header: 'authorization',
      good: await pair.sign(claims(aMinute)),
      expired: await pair.sign(claims(-aMinute)),
      invalid: await other.sign(claims(aMinute)),
    }
  },
  async 'a session'(clock) {
    const store = memorySessionStore()
    const make = async (ms: number) =>
      (await store.create({ userId: 'ann', expiresAt: clock.now() + ms })).secret
    return {
      authenticate: sessionAuthentication({ store, clock }),
      header: 'authorization',
      good: await make(aMinute),
      expired: await make(-aMinute),
      invalid: (await memorySessionStore().create({ userId: 'ann', expiresAt: clock.now() + aMinute }))
        .secret,
    }
  },
  async 'an API key'(clock) {
    const store = memoryKeyStore()
    const make = async (ms: number) =>
      (await store.create({ userId: 'ann', expiresAt: clock.now() + ms })).secret
    const revoked = await store.create({ userId: 'ann' })
    await store.revoke({ id: revoked.id })
    return {
      authenticate: apiKeyAuthentication({ store, clock }),
      header: 'x-api-key',
      good: await make(aMinute),
      expired: await make(-aMinute),
      invalid: revoked.secret,
    }
  },
  async 'an access token of a provider'(clock) {
    const exp = (ms: number) => Math.round((clock.now() + ms) / 1_000)
    const known = new Map([
      ['opaque-good', exp(aMinute)],
      ['opaque-late', exp(-aMinute)],
    ])
    const fetch = async (_: string, { body }: RequestInit) => {
      const end = known.get(new URLSearchParams(String(body)).get('token') ?? '')
      return Response.json(end === undefined ? { active: false } : { active: true, sub: 'ann', exp: end })
    }
    const provider = { url: 'https://login.test/ask', clientId: 'sync', clientSecret: 's', audience: null }
    return {
      authenticate: oauthAuthentication({
        profileOf: introspection({ ...provider, fetch, clock }),
        findOrCreate: async ({ subject }) => ({ userId: subject }),
        clock,
      }),
      header: 'authorization',
      good: 'opaque-good',
      expired: 'opaque-late',
      invalid: 'opaque-unknown',
    }
  },
}

/** Each kind by its name, made anew for `clock`. */
export const kinds = Object.entries(makers)
