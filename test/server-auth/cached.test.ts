import { beforeEach, describe, expect, test } from 'vitest'
import {
  type Authenticate,
  bearerToken,
  type Caller,
  cached,
  memorySessionStore,
  type Refusal,
  sessionAuthentication,
} from '../../src/server/index.ts'
import { bearing } from '../support/auth-tokens.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { VirtualClock } from '../support/virtual.ts'

let clock: VirtualClock
/** The tokens that were asked for, in order. */
let asked: string[]
let answer: (token: string) => Promise<Caller | Refusal | null>

const authenticate: Authenticate = async (request) => {
  const token = bearerToken(request) ?? ''
  asked.push(token)
  return answer(token)
}

beforeEach(() => {
  clock = new VirtualClock()
  asked = []
  answer = async (token) => ({ userId: token })
})

test('a caller is looked up once per `ttlMs`', async () => {
  const check = cached(authenticate, { clock, ttlMs: 1_000 })
  expect(await check(bearing('ann'))).toEqual({ userId: 'ann' })
  await clock.advance(999)
  expect(await check(bearing('ann'))).toEqual({ userId: 'ann' })
  expect(await check(bearing('bob'))).toEqual({ userId: 'bob' })
  expect(asked).toEqual(['ann', 'bob'])
  await clock.advance(1)
  await check(bearing('ann'))
  expect(asked).toEqual(['ann', 'bob', 'ann'])
})

test('a clock that is set back does not extend the cache', async () => {
  const jumping = new JumpingClock(clock)
  const check = cached(authenticate, { clock: jumping })
  await check(bearing('ann'))
  jumping.jump(-86_400_000)
  await check(bearing('ann'))
  expect(asked).toEqual(['ann', 'ann'])
})

test('a clock that is set back does not bring back a caller who was refused since', async () => {
  const jumping = new JumpingClock(clock)
  const check = cached(authenticate, { clock: jumping, ttlMs: 1_000 })
  await check(bearing('ann'))
  await clock.advance(1_000)
  answer = async () => ({ refused: 'invalid_token' })
  await check(bearing('ann'))
  jumping.jump(-500)
  expect(await check(bearing('ann'))).toEqual({ refused: 'invalid_token' })
})

test('a lookup that never ends does not block later ones', async () => {
  const check = cached(authenticate, { clock })
  answer = () => new Promise(() => {})
  const waiting = expect(check(bearing('ann'))).rejects.toThrow('did not answer within 30000 ms')
  await clock.advance(30_000)
  await waiting
  answer = async (token) => ({ userId: token })
  expect(await check(bearing('ann'))).toEqual({ userId: 'ann' })
})

test('a caller is cached for a minute by default', async () => {
  const check = cached(authenticate, { clock })
  await check(bearing('ann'))
  await clock.advance(59_999)
  await check(bearing('ann'))
  expect(asked).toEqual(['ann'])
  await clock.advance(1)
  await check(bearing('ann'))
  expect(asked).toEqual(['ann', 'ann'])
})

test('concurrent requests of a caller share one lookup, also if it fails', async () => {
  const check = cached(authenticate, { clock })
  await Promise.all([check(bearing('ann')), check(bearing('ann')), check(bearing('ann'))])
  expect(asked).toEqual(['ann'])
  answer = () => Promise.reject(new Error('away'))
  const both = await Promise.allSettled([check(bearing('bob')), check(bearing('bob'))])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(asked).toEqual(['ann', 'bob'])
  answer = async (token) => ({ userId: token })
  expect(await check(bearing('bob'))).toEqual({ userId: 'bob' })
})

test('a caller is not cached beyond the end of the credentials', async () => {
  answer = async (token) =>
    clock.now() < start + 500 ? { userId: token, expiresAt: start + 500 } : { refused: 'token_expired' }
  const start = clock.now()
  const check = cached(authenticate, { clock, ttlMs: 1_000 })
  await check(bearing('ann'))
  await clock.advance(499)
  expect(await check(bearing('ann'))).toMatchObject({ userId: 'ann' })
  await clock.advance(1)
  expect(await check(bearing('ann'))).toEqual({ refused: 'token_expired' })
})

test('a refusal is not cached', async () => {
  answer = async () => null
  const check = cached(authenticate, { clock })
  expect(await check(bearing('ann'))).toBeNull()
  answer = async () => ({ userId: 'ann' })
  expect(await check(bearing('ann'))).toEqual({ userId: 'ann' })
})

test('the cache holds at most `maxEntries`, and drops the least recently used', async () => {
  const check = cached(authenticate, { clock, maxEntries: 2 })
  for (const user of ['ann', 'bob', 'ann', 'cid', 'ann', 'bob']) await check(bearing(user))
  expect(asked).toEqual(['ann', 'bob', 'cid', 'bob'])
})

test('the cache distinguishes credentials in either header', async () => {
  const check = cached(async ({ headers }) => ({ userId: headers.get('x-api-key') ?? 'nobody' }), { clock })
  expect(await check(bearing('a', { 'x-api-key': 'ann' }))).toEqual({ userId: 'ann' })
  expect(await check(bearing('a', { 'x-api-key': 'bob' }))).toEqual({ userId: 'bob' })
  expect(await check(bearing('a'))).toEqual({ userId: 'nobody' })
})

test('a request without credentials is not cached, since something else may authenticate it', async () => {
  let cookie = 'ann'
  const check = cached(async () => ({ userId: cookie }), { clock })
  expect(await check(new Request('https://sync.test/'))).toEqual({ userId: 'ann' })
  cookie = 'bob'
  expect(await check(new Request('https://sync.test/'))).toEqual({ userId: 'bob' })
})

describe('a forgotten caller', () => {
  test('is looked up again, and others are not', async () => {
    const check = cached(authenticate, { clock })
    await check(bearing('ann'))
    await check(bearing('bob'))
    check.forget(({ userId }) => userId === 'ann')
    await check(bearing('ann'))
    await check(bearing('bob'))
    expect(asked).toEqual(['ann', 'bob', 'ann'])
  })

  test('is not cached by a lookup that was running', async () => {
    const store = memorySessionStore()
    const { secret, id } = await store.create({ userId: 'ann', expiresAt: clock.now() + 10_000 })
    const inner = sessionAuthentication({ store, clock })
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const check = cached(
      async (request) => {
        const found = await inner(request)
        await held
        return found
      },
      { clock },
    )
    const early = check(bearing(secret))
    await clock.advance(0)
    await store.revoke({ id })
    check.forget(({ credentialId }) => credentialId === id)
    release()
    expect(await early).toEqual({ refused: 'invalid_token' })
    expect(await check(bearing(secret))).toEqual({ refused: 'invalid_token' })
  })

  test('is not cached by a running lookup if more callers are forgotten meanwhile', async () => {
    const check = cached(authenticate, { clock })
    answer = async (token) => {
      if (asked.length === 3) return null
      check.forget(() => true)
      return { userId: token }
    }
    expect(await check(bearing('ann'))).toBeNull()
  })
})

test.each([
  ['ttlMs', { ttlMs: 0 }],
  ['ttlMs', { ttlMs: Number.NaN }],
  ['ttlMs', { ttlMs: '60000' as unknown as number }],
  ['maxEntries', { maxEntries: 0 }],
  ['maxEntries', { maxEntries: Number.NaN }],
])('a wrong `%s` is refused at the start', (option, wrong) => {
  expect(() => cached(authenticate, wrong)).toThrow(expect.objectContaining({ option }))
})
