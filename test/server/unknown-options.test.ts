import { expect, test } from 'vitest'
import {
  apiKeyAuthentication,
  cached,
  introspection,
  jwtAuthentication,
  memoryKeyStore,
  memorySessionStore,
  oauthAuthentication,
  prometheusMetrics,
  rateLimiter,
  serve,
  sessionAuthentication,
  signToken,
  userinfo,
} from '../../src/server/index.ts'
import { serviceOf } from './harness.ts'

const url = 'https://provider.test/introspect'
const provider = { url, clientId: 'instep', clientSecret: 'secret', audience: null }
const secret = 'a secret of at least 32 bytes, so that it is long enough'
const ask = { profileOf: async () => null, findOrCreate: async () => null }

/** Each with options that are right but for one that there is not: as from a file, which no type checks. */
const calls: readonly (readonly [misspelt: string, call: (options: object) => unknown])[] = [
  ['audiance', (more) => jwtAuthentication({ secret, ...more })],
  ['scopes', (more) => introspection({ ...provider, ...more })],
  ['timeout', (more) => userinfo({ url, ...more })],
  ['recheck', (more) => oauthAuthentication({ ...ask, ...more })],
  ['ttl', (more) => cached(async () => null, more)],
  ['clocks', (more) => apiKeyAuthentication({ store: memoryKeyStore(), ...more })],
  ['clocks', (more) => sessionAuthentication({ store: memorySessionStore(), ...more })],
  ['request', (more) => rateLimiter(more)],
  ['tokens', (more) => prometheusMetrics(more)],
  ['hots', (more) => serve(serviceOf().service, { port: 0, ...more })],
  ['organisationId', (more) => signToken({ secret, userId: 'ann', ...more })],
]

test.each(calls)(
  'an unknown option `%s` is refused, and the error lists the known ones',
  async (option, call) => {
    const called = async () => call({ [option]: 'x' })
    await expect(called()).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringMatching(new RegExp(`\`${option}\` is not an option; expected one of .*\\w, `)),
    })
  },
)

test.each<[object, string]>([
  [{ endpoints: { boostrap: { requests: 1, windowMs: 1_000 } } }, 'endpoints.boostrap'],
  [{ endpoints: { bootstrap: { requests: 1, windowMs: 1_000, window: 1 } } }, 'endpoints.bootstrap.window'],
])('an unknown option in the rates of endpoints is refused: %j', (options, option) => {
  expect(() => rateLimiter(options)).toThrow(`\`${option}\` is not an option; expected one of `)
})
