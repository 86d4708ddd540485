import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  anyOf,
  apiKeyAuthentication,
  jwtAuthentication,
  memoryKeyStore,
  memorySessionStore,
  sessionAuthentication,
} from '../../src/server/index.ts'
import { serviceOf } from '../server/harness.ts'
import {
  audience,
  bearing,
  claims,
  forged,
  issuer,
  keyPair,
  nowSeconds,
  part,
  secret,
  setOf,
} from '../support/auth-tokens.ts'
import { VirtualClock } from '../support/virtual.ts'

const clock = new VirtualClock()
const header = { alg: 'HS256' }
const good = forged(header)
const [head = '', body = '', signature = ''] = good.split('.')
const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

/** Tokens that nobody may be let in with, by what is wrong with them. */
const corpus: { readonly [wrong: string]: string } = {
  'alg none': forged({ alg: 'none' }, claims, undefined),
  'alg None': forged({ alg: 'None' }, claims, undefined),
  'alg none, signed': forged({ alg: 'none' }),
  'no alg': forged({}),
  'alg null': forged({ alg: null }),
  'alg a list': forged({ alg: ['HS256'] }),
  'alg of another case': forged({ alg: 'hs256' }),
  'alg HS512': forged({ alg: 'HS512' }),
  'alg RS256': forged({ alg: 'RS256' }),
  'alg dir': forged({ alg: 'dir', enc: 'A128GCM' }),
  'no signature': `${head}.${body}.`,
  'two parts': `${head}.${body}`,
  'four parts': `${good}.${signature}`,
  'five parts': `${head}.${body}.${signature}.${body}.${signature}`,
  'dots alone': '..',
  'another secret': forged(header, claims, 'another secret of at least 32 bytes'),
  'an empty secret': forged(header, claims, ''),
  'other claims': `${head}.${part({ ...claims, sub: 'bob' })}.${signature}`,
  'another header': `${part({ alg: 'HS256', typ: 'JWT' })}.${body}.${signature}`,
  'a signature cut short': good.slice(0, -4),
  'a signature with more': `${good}AAAA`,
  'no exp': forged(header, { ...claims, exp: undefined }),
  'exp null': forged(header, { ...claims, exp: null }),
  'exp text': forged(header, { ...claims, exp: String(claims.exp) }),
  'exp too far': forged(header, { ...claims, exp: nowSeconds + 31 * 86_400 }),
  'exp beyond all': forged(header, JSON.stringify(claims).replace(String(claims.exp), '1e999')),
  'exp too far, issued ahead': forged(header, {
    ...claims,
    iat: nowSeconds + 99 * 86_400,
    exp: nowSeconds + 100 * 86_400,
  }),
  'iat text': forged(header, { ...claims, iat: 'now' }),
  'not yet valid': forged(header, { ...claims, nbf: nowSeconds + 60 }),
  'nbf text': forged(header, { ...claims, nbf: '0' }),
  'no audience': forged(header, { ...claims, aud: undefined }),
  'another audience': forged(header, { ...claims, aud: `${audience}other` }),
  'other audiences': forged(header, { ...claims, aud: ['a', 'b'] }),
  'an audience that is an object': forged(header, { ...claims, aud: { 0: audience } }),
  'no issuer': forged(header, { ...claims, iss: undefined }),
  'another issuer': forged(header, { ...claims, iss: issuer.slice(0, -1) }),
  'no subject': forged(header, { ...claims, sub: undefined }),
  'an empty subject': forged(header, { ...claims, sub: '' }),
  'a subject that is a number': forged(header, { ...claims, sub: 7 }),
  'a subject that is an object': forged(header, { ...claims, sub: { toString: 'ann' } }),
  'claims that are a list': forged(header, [claims]),
  'claims that are null': forged(header, null),
  'claims that are no JSON': forged(header, 'sub=ann'),
  'claims that are deep': forged(header, deep(10_000)),
  'a header that is a list': forged([header]),
  'a header that is no JSON': forged('alg=HS256'),
  'a header that is deep': forged(deep(10_000)),
  'a header with crit': forged({ ...header, crit: ['exp'], exp: 1 }),
  'a header with an unknown crit': forged({ ...header, crit: ['b65'], b65: true }),
  'a header with b64': forged({ ...header, crit: ['b64'], b64: false }),
  'a header with __proto__': forged('{"__proto__":{"alg":"HS256"}}'),
  'a kid that is a path': forged({ ...header, kid: '../../dev/null' }, claims, ''),
  'a kid that is SQL': forged({ ...header, kid: "' OR 1=1 --" }, claims, "' OR 1=1 --"),
  'a huge header': forged({ ...header, x: 'x'.repeat(1_000_000) }),
  'huge claims': forged(header, { ...claims, x: 'x'.repeat(1_000_000) }),
  'a huge text': 'x'.repeat(1_000_000),
  'many dots': '.'.repeat(10_000),
  'a token in quotes': `"${good}"`,
  'two tokens': `${good},${good}`,
  padding: `${head}=.${body}=.${signature}=`,
  'letters beyond ASCII': `${good}é`,
  'percent signs': '%00%0a%0d',
}

/** Parts of a token that no log may hold. */
const tracesOf = (token: string) =>
  token
    .split('.')
    .map((piece) => piece.slice(0, 24))
    .filter((piece) => piece.length > 8)

const jwt = jwtAuthentication({ secret, clock, issuer, audience })

describe('a bad token', () => {
  let keySet: ReturnType<typeof jwtAuthentication>

  beforeAll(async () => {
    const keys = setOf(await keyPair('RS256', 'one'), await keyPair('ES256', 'two'))
    keySet = jwtAuthentication({ jwks: keys, algorithms: ['RS256', 'ES256'], clock, issuer, audience })
  })

  test('differs from the valid ones', async () => {
    expect(await jwt(bearing(good))).toMatchObject({ userId: 'ann' })
  })

  test.each(Object.entries(corpus))(
    'invariant 56: %s is refused by every authentication, and never logged',
    async (_, token) => {
      const all = anyOf(
        jwt,
        keySet,
        sessionAuthentication({ store: memorySessionStore(), clock }),
        apiKeyAuthentication({ store: memoryKeyStore(), clock }),
      )
      for (const authenticate of [jwt, keySet, all]) {
        const { service, ask, lines } = serviceOf({ authenticate })
        const init = { user: '', headers: { authorization: `Bearer ${token}` } }
        const query = new URL(`https://sync.test/sync/v1/ws?token=${encodeURIComponent(token)}`)
        const answers = [
          await ask('bootstrap', init),
          await ask('delta?since=0', init),
          await ask('ws', init),
        ]
        const socket = await service.upgrade(new Request(query))
        for (const answer of [...answers, socket]) {
          expect(answer).toMatchObject({ status: 401 })
          const text = answer instanceof Response ? await answer.text() : ''
          expect(JSON.parse(text).error.code).toBe('invalid_token')
          for (const trace of tracesOf(token)) expect(text + lines.join()).not.toContain(trace)
        }
        expect(lines).toHaveLength(4)
      }
    },
  )

  test('with any letter changed is refused', async () => {
    const letters = fc.constantFrom(...'ABCxyz019-_.')
    // The last letter holds two bits that mean nothing.
    const change = fc.tuple(fc.nat(good.length - 2), letters).filter(([at, letter]) => good[at] !== letter)
    await fc.assert(
      fc.asyncProperty(change, async ([at, letter]) => {
        const token = good.slice(0, at) + letter + good.slice(at + 1)
        expect(await jwt(bearing(token))).toEqual({ refused: 'invalid_token' })
      }),
    )
  })
})

test.each(['', ' ', '\n', 'a\r\nX-User: ann', '€', '𝒳', '\0', 'a b', '%'])(
  'an invalid token in the query is refused like any other: %j',
  async (token) => {
    const { service, lines } = serviceOf({ authenticate: jwt })
    const url = `https://sync.test/sync/v1/ws?token=${encodeURIComponent(token)}&token=second`
    expect(await service.upgrade(new Request(url))).toMatchObject({ status: 401 })
    expect(lines).toEqual([
      expect.stringMatching(/^Authentication failed\. .*"path":"\/sync\/v1\/ws","code":"invalid_token"}$/),
    ])
  },
)

test('the error of an authentication is logged without credentials of any kind', async () => {
  for (const [name, value] of [
    ['Authorization', `Bearer ${good}`],
    ['Authorization', `Bearer ${'x'.repeat(20_000)}`],
    ['Authorization', 'Basic YW5uOnBhc3N3b3Jk'],
    ['X-API-Key', 'the key of ann'],
  ] as const) {
    const { ask, lines } = serviceOf({
      authenticate: async ({ headers }) => {
        const sent = headers.get(name) ?? ''
        throw new Error(`cannot check ${sent} at /keys?of=${encodeURIComponent(sent.replace(/^B\w+ /, ''))}`)
      },
    })
    expect((await ask('bootstrap', { user: '', headers: { [name]: value } })).status).toBe(503)
    expect(lines.join()).toMatch(/cannot check (\w+ )?… at \/keys\?of=…"/)
  }
})
