import { expect, test } from 'vitest'
import {
  type Authenticate,
  anyOf,
  apiKeyAuthentication,
  forTokens,
  jwtAuthentication,
  looksLikeJwt,
  memoryKeyStore,
  memorySessionStore,
  sessionAuthentication,
} from '../../src/server/index.ts'
import { bearing, claims, forged, nowSeconds, secret } from '../support/auth-tokens.ts'
import { VirtualClock } from '../support/virtual.ts'

const clock = new VirtualClock()
const sessions = memorySessionStore()
const keys = memoryKeyStore()
const all = anyOf(
  jwtAuthentication({ secret, clock }),
  sessionAuthentication({ store: sessions, clock }),
  apiKeyAuthentication({ store: keys, clock }),
)
const jwt = forged({ alg: 'HS256' })
const late = forged({ alg: 'HS256' }, { ...claims, exp: nowSeconds })
const away: Authenticate = () => Promise.reject(new Error('away'))
const nobody: Authenticate = async () => null
const anonymous = new Request('https://sync.test/')
const withKey = (key: string) => new Request('https://sync.test/', { headers: { 'x-api-key': key } })

test('each kind of credentials is recognized by its own authentication', async () => {
  const session = await sessions.create({ userId: 'bob', expiresAt: clock.now() + 1_000 })
  const key = await keys.create({ userId: 'robot' })
  expect(await all(bearing(jwt))).toMatchObject({ userId: 'ann' })
  expect(await all(bearing(session.secret))).toMatchObject({ userId: 'bob' })
  expect(await all(withKey(key.secret))).toMatchObject({ userId: 'robot' })
})

test('the most specific refusal is returned', async () => {
  expect(await all(anonymous)).toEqual({ refused: 'no_token' })
  expect(await all(bearing('nonsense'))).toEqual({ refused: 'invalid_token' })
  expect(await all(withKey('nonsense'))).toEqual({ refused: 'invalid_token' })
  expect(await all(bearing(late))).toEqual({ refused: 'token_expired' })
  const session = await sessions.create({ userId: 'bob', expiresAt: clock.now() })
  expect(await all(bearing(session.secret))).toEqual({ refused: 'token_expired' })
  expect(await anyOf(nobody)(bearing('x'))).toEqual({ refused: 'invalid_token' })
})

test('an authentication that fails refuses nobody whom another accepts, and accepts nobody', async () => {
  const valid = jwtAuthentication({ secret, clock })
  expect(await anyOf(away, valid)(bearing(jwt))).toMatchObject({ userId: 'ann' })
  expect(await anyOf(away, valid)(bearing(late))).toEqual({ refused: 'token_expired' })
  await expect(anyOf(away, valid)(bearing('nonsense'))).rejects.toThrow('away')
  await expect(anyOf(nobody, away)(bearing(jwt))).rejects.toThrow('away')
})

test('a token of one kind is sent to no other authentication', async () => {
  const sent: string[] = []
  const provider: Authenticate = async ({ headers }) => {
    sent.push(headers.get('authorization') ?? '')
    return null
  }
  const routed = anyOf(
    forTokens(looksLikeJwt, jwtAuthentication({ secret, clock })),
    forTokens((token) => !looksLikeJwt(token), provider),
  )
  expect(await routed(bearing(jwt))).toMatchObject({ userId: 'ann' })
  expect(await routed(bearing(`${jwt}x`))).toEqual({ refused: 'invalid_token' })
  expect(sent).toEqual([])
  expect(await routed(bearing('opaque'))).toEqual({ refused: 'invalid_token' })
  expect(sent).toEqual(['Bearer opaque'])
})

test('`forTokens` passes on a request without a token', async () => {
  const key = await keys.create({ userId: 'robot' })
  const routed = forTokens(looksLikeJwt, apiKeyAuthentication({ store: keys, clock }))
  expect(await routed(withKey(key.secret))).toMatchObject({ userId: 'robot' })
})

test('no authentication at all is refused', () => {
  expect(() => anyOf()).toThrow(expect.objectContaining({ name: 'ConfigurationError' }))
})
