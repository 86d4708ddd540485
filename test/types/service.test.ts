import { expectTypeOf, test } from 'vitest'
import { type IndexedDbOptions, indexedDbStore } from '../../src/index.ts'
import {
  cached,
  createSyncService,
  openSqlLog,
  prometheusMetrics,
  rateLimiter,
  serve,
} from '../../src/server/index.ts'

const undecided: { readonly [name: string]: undefined } = {}
const authenticate = async () => null

test('what need not be given to the service may be given as undefined', () => {
  const { models, onCommit, path, heartbeatMs, maxBodyBytes, rateLimit, healthPath, metrics } = undecided
  const { logger, clock, random, retention, maxReaders, requests, endpoints, host, graceMs } = undecided
  const asked = () => {
    const service = createSyncService({
      database: 'memory:',
      authenticate: cached(authenticate, { ttlMs: requests, clock }),
      ownerField: 'userId',
      models,
      onCommit,
      path,
      heartbeatMs,
      maxBodyBytes,
      rateLimit,
      healthPath,
      metrics,
      logger,
      clock,
      random,
      retention,
      maxReaders,
    })
    rateLimiter({ requests, endpoints })
    prometheusMetrics({ path })
    return [
      serve(service, { port: 0, host, graceMs }),
      openSqlLog('memory:', { retention, maxReaders, clock }),
    ]
  }
  expectTypeOf(asked).toBeFunction()
})

test('what lets more in where it is missing is noticed when it is', () => {
  const given = { database: 'memory:', authenticate, ownerField: 'userId' } as const
  const { missing } = undecided
  const wrong = () => [
    // @ts-expect-error all would be allowed
    createSyncService({ ...given, authorize: missing }),
    // @ts-expect-error all origins would be
    createSyncService({ ...given, allowedOrigins: missing }),
    // @ts-expect-error everybody would see them
    prometheusMetrics({ token: missing }),
  ]
  expectTypeOf(wrong).toBeFunction()
})

test('the factory of the store may be given as undefined', () => {
  const { indexedDB } = undecided
  const options: IndexedDbOptions = { indexedDB }
  expectTypeOf(indexedDbStore).toBeCallableWith(options)
})
