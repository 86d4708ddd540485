import { Pool } from 'pg'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { type RateLimit, rateLimiter } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { FakeSocket, requestTo, serviceOf } from './harness.ts'

const once = { requests: 1, windowMs: 60_000 }
const statuses = async (...answers: readonly Promise<Response>[]) =>
  (await Promise.all(answers)).map(({ status }) => status)

describe('a rate limit', () => {
  test('does not exist by default', async () => {
    const { ask } = serviceOf()
    for (let n = 0; n < 300; n += 1) expect((await ask('delta?since=0')).status).toBe(200)
  })

  test('invariant 57: answers 429 with Retry-After to a caller who sends too often, before the body is read', async () => {
    const { ask, log } = serviceOf({ rateLimit: rateLimiter(once) })
    expect((await ask('bootstrap')).status).toBe(200)
    log.delta = () => Promise.reject(new Error('It was asked.'))
    const response = await ask('delta?since=0', { headers: { origin: 'https://app.test' } })
    expect(response.status).toBe(429)
    const wait = Number(response.headers.get('Retry-After'))
    expect(wait).toBeGreaterThan(55)
    expect(wait).toBeLessThanOrEqual(60)
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*')
    expect((await response.json()).error.code).toBe('too_many_requests')
    const body = new ReadableStream({
      pull() {
        throw new Error('It was read.')
      },
    })
    expect((await ask('tx', { method: 'POST', body, duplex: 'half' } as RequestInit)).status).toBe(429)
  })

  test('asks for a wait of whole seconds, at least one', async () => {
    const waits = [0, 1, 1_001]
    const { ask } = serviceOf({ rateLimit: { take: async () => waits.shift() } })
    for (const seconds of ['1', '1', '2']) {
      expect((await ask('bootstrap')).headers.get('Retry-After')).toBe(seconds)
    }
  })

  test('counts each user separately, and starts again after its window', async () => {
    vi.useFakeTimers()
    try {
      const { ask } = serviceOf({ rateLimit: rateLimiter({ requests: 2, windowMs: 10_000 }) })
      const path = 'delta?since=0'
      expect(await statuses(ask(path), ask(path), ask(path))).toEqual([200, 200, 429])
      expect(await statuses(ask(path, { user: 'bob' }))).toEqual([200])
      await vi.advanceTimersByTimeAsync(10_000)
      expect(await statuses(ask(path))).toEqual([200])
    } finally {
      vi.useRealTimers()
    }
  })

  test('is 100 requests a minute by default', async () => {
    vi.useFakeTimers()
    try {
      const { take } = rateLimiter()
      const waits: (number | undefined)[] = []
      for (let n = 0; n < 101; n += 1) waits.push(await take({ userId: 'ann' }, 'delta'))
      expect(waits).toEqual([...Array(100).fill(undefined), 60_000])
    } finally {
      vi.useRealTimers()
    }
  })

  test('does not count unauthenticated requests, preflights and /healthz', async () => {
    const { ask, service } = serviceOf({ rateLimit: rateLimiter(once) })
    for (let n = 0; n < 3; n += 1) {
      expect((await ask('bootstrap', { user: '' })).status).toBe(401)
      expect((await ask('bootstrap', { method: 'OPTIONS' })).status).toBe(204)
      expect((await ask('elsewhere')).status).toBe(404)
      expect((await service.fetch(new Request('https://sync.test/healthz'))).status).toBe(200)
    }
    expect((await ask('bootstrap')).status).toBe(200)
  })

  test('can differ for an endpoint, which then does not count elsewhere', async () => {
    const endpoints = { bootstrap: once, ws: once }
    const { ask, service } = serviceOf({ rateLimit: rateLimiter({ ...once, requests: 2, endpoints }) })
    expect(await statuses(ask('bootstrap'), ask('bootstrap'))).toEqual([200, 429])
    expect(await statuses(ask('delta?since=0'), ask('delta?since=0'), ask('delta?since=0'))).toEqual([
      ...[200, 200, 429],
    ])
    const [first, second] = [new FakeSocket(), new FakeSocket()]
    await service.connect(first, requestTo('ws', 'ann'))
    await service.connect(second, requestTo('ws', 'ann'))
    expect(first.closed).toBeUndefined()
    expect(second.closed).toEqual([1013, 'too_many_requests'])
  })

  test.each<[string, RateLimit['take']]>([
    ['rejects', () => Promise.reject(new Error('Redis is away.'))],
    [
      'throws',
      () => {
        throw new Error('Redis is away.')
      },
    ],
  ])('of the application that %s allows requests, and is logged', async (_, take) => {
    const rateLimit: RateLimit = { take }
    const { ask, lines } = serviceOf({ rateLimit })
    expect((await ask('bootstrap')).status).toBe(200)
    expect(lines.join()).toContain('Redis is away.')
  })

  test.each([
    { requests: 0 },
    { requests: 1.5 },
    { windowMs: 999 },
    { windowMs: 2_147_483_648 },
    { endpoints: { tx: { ...once, requests: -1 } } },
  ])('%j is refused', (options) => {
    expect(() => rateLimiter(options)).toThrow('A rate needs a whole number')
  })
})

test.each([1_000, 2_147_483_647])('a rate limit accepts a window of %i ms', (windowMs) => {
  expect(() => rateLimiter({ windowMs })).not.toThrow()
})

describe('a rate limit that processes share in PostgreSQL', () => {
  const postgres = ownPostgres()
  const pools: Pool[] = []
  const poolOf = async (name: string) => {
    const pool = new Pool({ connectionString: await postgres.database(name), connectionTimeoutMillis: 2_000 })
    pool.on('error', () => {})
    pools.push(pool)
    return pool
  }

  afterAll(async () => {
    for (const pool of pools) await pool.end()
  })

  test('counts the requests to all processes', async () => {
    const rate = { ...once, requests: 3 }
    const services = [
      serviceOf({ rateLimit: rateLimiter({ ...rate, pool: await poolOf('shared') }) }),
      serviceOf({ rateLimit: rateLimiter({ ...rate, pool: await poolOf('shared') }) }),
    ]
    const found: number[] = []
    for (const { ask } of [...services, ...services]) found.push((await ask('bootstrap')).status)
    expect(found).toEqual([200, 200, 200, 429])
    expect(await postgres.run('shared', 'select from instep_rate')).toHaveLength(1)
  })

  test('counts an endpoint with its own rate separately', async () => {
    const rates = { ...once, endpoints: { bootstrap: once } }
    const pools = [await poolOf('apart'), await poolOf('apart')]
    const services = pools.map((pool) => serviceOf({ rateLimit: rateLimiter({ ...rates, pool }) }))
    for (const path of ['bootstrap', 'delta?since=0']) {
      const found: number[] = []
      for (const { ask } of services) found.push((await ask(path)).status)
      expect([path, ...found]).toEqual([path, 200, 429])
    }
  })

  test.each([
    ['very long', 'x'.repeat(1_000)],
    ['not storable in PostgreSQL', 'ann\u0000'],
  ])('counts a user whose id is %s in all processes', async (_, userId) => {
    const pools = [await poolOf('ids'), await poolOf('ids')]
    const waits: (number | undefined)[] = []
    for (const pool of pools) waits.push(await rateLimiter({ ...once, pool }).take({ userId }, 'bootstrap'))
    expect(waits).toEqual([undefined, expect.any(Number)])
  })

  test('counts in each process alone while the database is away, and together afterwards', async () => {
    const [away, pool] = [{ query: () => Promise.reject(new Error('away')) }, await poolOf('away')]
    let current: { query(statement: { text: string }): Promise<unknown> } = away
    const switching = { query: (statement: { text: string }) => current.query(statement) }
    const { ask } = serviceOf({ rateLimit: rateLimiter({ ...once, pool: switching }) })
    expect(await statuses(ask('bootstrap'))).toEqual([200])
    expect(await statuses(ask('bootstrap'))).toEqual([429])
    current = pool
    expect(await statuses(ask('bootstrap'))).toEqual([200])
    current = away
    expect(await statuses(ask('bootstrap'))).toEqual([429])
  })
})
