import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Fetch } from '../../src/base/environment.ts'
import { cached, introspection, jwtAuthentication, oauthAuthentication } from '../../src/server/index.ts'
import { serviceOf } from '../server/harness.ts'
import { audience, claims, keyPair, setOf } from '../support/auth-tokens.ts'
import { VirtualClock } from '../support/virtual.ts'

let clock: VirtualClock

beforeEach(() => {
  clock = new VirtualClock()
})

describe('a stranger who sends invalid tokens to a service with OAuth', () => {
  /** A provider that allows 100 calls in 10 s, and a service that asks it. Tokens that begin with `good` are valid. */
  const setUp = () => {
    const calls: { readonly at: number; readonly token: string }[] = []
    let isUp = true
    const fetch: Fetch = async (_, { body }) => {
      const token = new URLSearchParams(String(body)).get('token') ?? ''
      const recent = calls.filter(({ at }) => at > clock.now() - 10_000)
      calls.push({ at: clock.now(), token })
      if (!isUp || recent.length >= 100) return new Response('', { status: 429 })
      return Response.json(token.startsWith('good') ? { active: true, sub: token } : { active: false })
    }
    const client = { clientId: 'sync', clientSecret: 'secret', audience: null }
    const authenticate = cached(
      oauthAuthentication({
        profileOf: introspection({ url: 'https://login.test/introspect', ...client, fetch, clock }),
        findOrCreate: async ({ subject }) => ({ userId: subject }),
        clock,
      }),
      { clock },
    )
    const { ask, lines } = serviceOf({ authenticate, clock })
    const statusOf = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      const { status, headers: answered } = await ask('delta?since=0', { user: '', headers })
      if (status === 503) expect(Number(answered.get('Retry-After'))).toBeGreaterThan(0)
      return status
    }
    const fail = (failing: boolean) => {
      isUp = !failing
    }
    return { statusOf, calls, lines, fail }
  }
  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`)

  test('causes one call for each token, however often and fast it comes', async () => {
    const { statusOf, calls } = setUp()
    expect(new Set(await Promise.all(names('', 100).map(() => statusOf('bad'))))).toEqual(new Set([401]))
    for (const _ of names('', 100)) expect(await statusOf('bad')).toBe(401)
    expect(calls).toHaveLength(1)
    await clock.advance(10_000)
    await statusOf('bad')
    expect(calls).toHaveLength(2)
  })

  test.each([
    ['one after the other', false],
    ['at once', true],
  ])('leaves most of the provider’s limit to known users: 200 tokens %s', async (_, isAtOnce) => {
    const { statusOf, calls } = setUp()
    const users = names('good', 20)
    for (const user of users) expect(await statusOf(user)).toBe(200)
    // Long enough for the callers to be asked about again.
    await clock.advance(60_000)
    const tokens = names('bad', 200)
    const statuses = isAtOnce ? await Promise.all(tokens.map(statusOf)) : []
    if (!isAtOnce) for (const token of tokens) statuses.push(await statusOf(token))
    expect(new Set(statuses)).toEqual(new Set([401, 503]))
    expect(calls.filter(({ token }) => token.startsWith('bad'))).toHaveLength(30)
    for (const user of users) expect(await statusOf(user)).toBe(200)
    expect(calls.length).toBe(70)
  })

  test('keeps a new user waiting for at most half a second', async () => {
    const { statusOf } = setUp()
    for (const token of names('bad', 40)) await statusOf(token)
    expect(await statusOf('good')).toBe(503)
    await clock.advance(500)
    expect(await statusOf('good')).toBe(200)
  })

  test('keeps no new user out who tries again, while 10 new tokens come each second', async () => {
    const { statusOf } = setUp()
    for (const token of names('bad', 30)) await statusOf(token)
    const attack = async (name: string) => {
      for (const token of names(`bad${name}`, 10)) {
        await clock.advance(100)
        await statusOf(token)
      }
    }
    const statuses: number[] = []
    for (const user of names('good', 15)) {
      await attack(`-before-${user}-`)
      await statusOf(user)
      await attack(`-after-${user}-`)
      statuses.push(await statusOf(user))
    }
    expect(statuses).toEqual(names('', 15).map(() => 200))
  })

  test('logs no fault', async () => {
    const { statusOf, lines } = setUp()
    for (const token of names('bad', 40)) await statusOf(token)
    expect(lines.at(-1)).toContain('Too many unknown tokens')
    expect(lines.join()).not.toContain('bad3')
  })

  test('new valid tokens are not limited', async () => {
    const { statusOf } = setUp()
    expect(new Set(await Promise.all(names('good', 90).map(statusOf)))).toEqual(new Set([200]))
  })

  test('a known user is accepted while the provider fails', async () => {
    const { statusOf, fail } = setUp()
    await statusOf('good')
    await clock.advance(60_000)
    fail(true)
    for (const token of names('bad', 40)) await statusOf(token)
    expect(await statusOf('good')).toBe(503)
    fail(false)
    expect(await statusOf('good')).toBe(200)
  })
})

describe('a stranger who sends tokens with random key ids', () => {
  let old: Awaited<ReturnType<typeof keyPair>>
  let next: Awaited<ReturnType<typeof keyPair>>

  beforeAll(async () => {
    ;[old, next] = await Promise.all([keyPair('ES256', 'old'), keyPair('ES256', 'next')])
  })

  const setUp = () => {
    let keys = setOf(old)
    let fetches = 0
    const fetch: Fetch = async () => {
      fetches += 1
      return Response.json(keys)
    }
    const authenticate = jwtAuthentication({
      jwks: 'https://login.test/jwks',
      algorithms: ['ES256'],
      audience,
      clock,
      fetch,
    })
    const { ask } = serviceOf({ authenticate, clock })
    const send = (token: string) =>
      ask('delta?since=0', { user: '', headers: { authorization: `Bearer ${token}` } })
    const statusOf = async (token: string) => (await send(token)).status
    const publish = (...pairs: { readonly jwk: object }[]) => {
      keys = setOf(...pairs)
    }
    const nonsense = (kid: string) => old.sign(claims, { kid })
    return { send, statusOf, publish, nonsense, fetches: () => fetches }
  }

  test('does not affect a new key, which is accepted within 5 s and never refused', async () => {
    const { send, statusOf, publish, nonsense, fetches } = setUp()
    expect(await statusOf(await old.sign())).toBe(200)
    for (let n = 0; n < 50; n += 1) expect(await statusOf(await nonsense(`n${n}`))).toBe(503)
    publish(old, next)
    const paused = await send(await next.sign())
    expect(paused.status).toBe(503)
    const wait = Number(paused.headers.get('Retry-After'))
    expect(wait).toBeGreaterThan(0)
    for (let second = 0; second < wait; second += 1) {
      await clock.advance(1_000)
      await statusOf(await nonsense(`again ${second}`))
    }
    expect(await statusOf(await next.sign())).toBe(200)
    expect(fetches()).toBe(2)
  })

  test('is refused once the key set was fetched after the request for the key', async () => {
    const { statusOf, nonsense } = setUp()
    await statusOf(await old.sign())
    expect(await statusOf(await nonsense('one'))).toBe(503)
    await clock.advance(5_000)
    expect(await statusOf(await nonsense('other'))).toBe(401)
    expect(await statusOf(await nonsense('one'))).toBe(401)
  })

  test('a withdrawn key is accepted for a minute at most', async () => {
    const { statusOf, publish } = setUp()
    expect(await statusOf(await old.sign())).toBe(200)
    publish(next)
    await clock.advance(60_000)
    expect(await statusOf(await old.sign())).toBe(401)
    expect(await statusOf(await next.sign())).toBe(200)
  })
})
