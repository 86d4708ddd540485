import { afterAll, describe, expect, test, vi } from 'vitest'
import {
  cached,
  createSyncService,
  introspection,
  jwtAuthentication,
  oauthAuthentication,
  rateLimiter,
  serve,
  signToken,
  userinfo,
} from '../../src/server/index.ts'
import { checkLogOptions } from '../../src/server/log/sql/check-options.ts'
import { bearing, forged, secret as long } from '../support/auth-tokens.ts'

const url = 'https://login.test/'
const client = { clientId: 'sync', clientSecret: 'secret', audience: null }
const service = (options: object) =>
  createSyncService({ database: 'memory:', authenticate: async () => null, ownerField: 'userId', ...options })
const provided = { profileOf: async () => null, findOrCreate: async () => null }
const jwks = { jwks: url, algorithms: ['ES256'], audience: null } as const

/** Each option of the service that is a time, and what checks it at the start. */
const options: readonly (readonly [option: string, start: (ms: number) => unknown])[] = [
  ['heartbeatMs', (heartbeatMs) => service({ heartbeatMs })],
  ['recheckMs', (recheckMs) => service({ recheckMs })],
  ['recheckMs', (recheckMs) => oauthAuthentication({ ...provided, recheckMs })],
  ['ttlMs', (ttlMs) => cached(async () => null, { ttlMs })],
  ['maxLifetimeMs', (maxLifetimeMs) => jwtAuthentication({ secret: long, maxLifetimeMs })],
  ['cacheMs', (cacheMs) => jwtAuthentication({ ...jwks, cacheMs })],
  ['timeoutMs', (timeoutMs) => jwtAuthentication({ ...jwks, timeoutMs })],
  ['timeoutMs', (timeoutMs) => introspection({ url, ...client, timeoutMs })],
  ['timeoutMs', (timeoutMs) => userinfo({ url, timeoutMs })],
  ['lifetimeMs', (lifetimeMs) => signToken({ secret: long, userId: 'ann', lifetimeMs })],
  ['graceMs', (graceMs) => serve(service({}), { port: -1, graceMs })],
  ['rateLimit', (windowMs) => rateLimiter({ windowMs })],
  ['readerIdleMs', (readerIdleMs) => checkLogOptions({ readerIdleMs })],
  ['spoolAfterMs', (spoolAfterMs) => checkLogOptions({ spoolAfterMs })],
  ['maxReadMs', (maxReadMs) => checkLogOptions({ maxReadMs })],
  ['maxWaitMs', (maxWaitMs) => checkLogOptions({ maxWaitMs })],
  ['retention.maxAgeMs', (maxAgeMs) => checkLogOptions({ retention: { maxAgeMs } })],
  ['retention.maxVerdictAgeMs', (maxVerdictAgeMs) => checkLogOptions({ retention: { maxVerdictAgeMs } })],
]

test.each(options)('a `%s` that is not a duration is refused at the start', async (option, start) => {
  for (const wrong of [Number.NaN, '5000' as unknown as number, null as unknown as number]) {
    await expect((async () => start(wrong))(), String(wrong)).rejects.toMatchObject({
      name: 'ConfigurationError',
      option,
    })
  }
})

describe('a time limit longer than a timer of the system', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  afterAll(() => vi.useRealTimers())

  test.each([2 ** 31 - 1, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])(
    'of %d ms is applied as it is',
    async (timeoutMs) => {
      const signals: (AbortSignal | null | undefined)[] = []
      const fetch = (_: string, { signal }: RequestInit) => {
        signals.push(signal)
        return new Promise<Response>(() => {})
      }
      for (const authenticate of [
        jwtAuthentication({ ...jwks, timeoutMs, fetch }),
        oauthAuthentication({ ...provided, profileOf: userinfo({ url, timeoutMs, fetch }) }),
      ]) {
        authenticate(bearing(forged({ alg: 'ES256', kid: 'k' }))).catch(() => {})
      }
      await vi.waitFor(() => expect(signals).toHaveLength(2))
      await vi.advanceTimersByTimeAsync(10_000)
      for (const signal of signals) expect(signal?.aborted).toBe(false)
    },
  )
})
