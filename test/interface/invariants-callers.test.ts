import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { memoryStore, SyncClient } from '../../src/index.ts'
import { createSyncService, jwtAuthentication, rateLimiter } from '../../src/server/index.ts'
import { FakeSocket, insert, requestTo, update } from '../server/harness.ts'
import { forged } from '../support/auth-tokens.ts'
import { type Grounds, openGrounds } from './grounds.ts'
import { secret, serveOn } from './site.ts'

let grounds: Grounds

beforeAll(async () => {
  grounds = await openGrounds()
})

afterAll(() => grounds.close())

afterEach(() => {
  vi.useRealTimers()
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** What callers may rely on, and what others cannot get, of a service on a database, seen from outside. */
describe('on PostgreSQL', () => {
  test('invariant 46: a record that changes hands is gone from the old owner, and comes whole to the new one', async () => {
    const { service, listen, json } = await serveOn(await grounds.log('PostgreSQL'))
    await service.write([insert('1', { title: 'x' })])
    const [old, next] = [await listen('ann'), await listen('bob')]
    await service.write([update('1', { userId: 'bob', n: 1 })])
    const removal = { sid: 2, op: 'd', id: '1' }
    const arrival = { sid: 3, op: 'i', id: '1', p: { userId: 'bob', title: 'x', n: 1 } }
    await expect.poll(() => old.pushes).toMatchObject([{ frames: [removal] }])
    await expect.poll(() => next.pushes).toMatchObject([{ frames: [arrival] }])
    expect((await json('delta?since=1')).frames).toMatchObject([removal])
    expect((await json('delta?since=1', { user: 'bob' })).frames).toMatchObject([arrival])
    expect((await json('bootstrap')).rows).toEqual([])
  })

  test('invariant 48: a socket ends with its token, give or take a second, and the next one misses no frame', async () => {
    const site = await serveOn(await grounds.log('PostgreSQL'))
    await site.listen()
    const exp = Math.floor(Date.now() / 1_000) + 3
    const { listening } = await site.connect(bearer(forged({ alg: 'HS256' }, { sub: 'ann', exp }, secret)))
    // A timer of the same process is as late as that of the service, where the machine is busy.
    const due = new Promise((resolve) => setTimeout(resolve, exp * 1_000 - Date.now())).then(() => Date.now())
    let writing = true
    const write = async () => {
      let n = 0
      for (; writing; n += 1) {
        await site.service.write([insert(String(n))])
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return n
    }
    const done = write()
    expect(await listening?.closed).toEqual({ code: 4401, reason: 'token_expired' })
    expect(Math.abs(Date.now() - (await due))).toBeLessThan(1_000)
    const position = listening?.pushes.at(-1)?.sid ?? 0
    const next = await site.listen()
    const delta = await site.json(`delta?since=${position}`)
    writing = false
    const count = await done
    const ids = () => {
      const all = [...(listening?.pushes ?? []), delta, ...next.pushes].flatMap(({ frames }) => frames)
      return new Set(all.map(({ id }) => id)).size
    }
    await expect.poll(ids).toBe(count)
  })

  test('invariant 48: a socket ends when its caller is revoked, and no other does', async () => {
    const site = await serveOn(await grounds.log('PostgreSQL'))
    const [mine, other] = [await site.listen('ann'), await site.listen('bob')]
    site.service.revoke(({ userId }) => userId === 'ann')
    expect(await mine.closed).toEqual({ code: 4401, reason: 'revoked' })
    expect(other.socket.readyState).toBe(1)
  })

  test('invariant 55: a client that takes nothing is cut with 1013, and a delta brings what it missed', async () => {
    const site = await serveOn(await grounds.log('PostgreSQL'), { maxBufferedBytes: 50_000 })
    const slow = await site.listen()
    slow.socket.pause()
    await site.service.write([insert('1', { text: '' })])
    for (let n = 0; n < 30; n += 1) {
      await site.service.write([update('1', { n, text: 'x'.repeat(500_000) })])
      await new Promise((resolve) => setImmediate(resolve))
    }
    slow.socket.resume()
    expect((await slow.closed).code).toBe(1013)
    const position = slow.pushes.at(-1)?.sid ?? 0
    expect(position).toBeLessThan(31)
    const { sid, frames } = await site.json(`delta?since=${position}`)
    expect([sid, frames.length]).toEqual([31, 31 - position])
  })

  test('invariant 56: a forged or careless token, and the page of a foreign origin, are refused, and none is logged', async () => {
    const site = await serveOn(await grounds.log('PostgreSQL'), {
      authenticate: jwtAuthentication({ secret, audience: 'sync' }),
      allowedOrigins: ['https://app.test'],
    })
    const exp = Math.floor(Date.now() / 1_000) + 60
    const good = { sub: 'ann', aud: 'sync', exp }
    const tokens = [
      forged({ alg: 'none' }, good, undefined),
      forged({ alg: 'HS512' }, good, secret),
      forged({ alg: 'HS256' }, good, 'another secret that is long enough to sign'),
      forged({ alg: 'HS256' }, { ...good, exp: undefined }, secret),
      forged({ alg: 'HS256' }, { ...good, aud: 'another' }, secret),
      forged({ alg: 'HS256' }, { ...good, exp: exp - 120 }, secret),
    ]
    for (const token of tokens) {
      expect((await site.ask('bootstrap', { user: '', headers: bearer(token) })).status).toBe(401)
      expect((await site.connect({}, `?token=${token}`)).status).toBe(401)
    }
    const token = forged({ alg: 'HS256' }, good, secret)
    const body = '{"txs":[{"id":"a","since":0,"ops":[{"op":"d","t":"a","id":"b"}]}]}'
    for (const [origin, socket, tx] of [
      ['https://app.test', 101, 200],
      ['https://app.test.evil.test', 403, 403],
      ['null', 403, 403],
    ] as const) {
      const headers = { ...bearer(token), origin }
      expect((await site.connect(headers)).status).toBe(socket)
      expect((await site.ask('tx', { user: '', method: 'POST', headers, body })).status).toBe(tx)
    }
    const parts = [...tokens, token].flatMap((each) => each.split('.').filter((part) => part.length > 30))
    expect(parts.filter((part) => site.lines.join('').includes(part))).toEqual([])
  })

  test('invariant 57: what is too long, too packed or too often is refused, and what looks like SQL is text', async () => {
    const odd = `o'x"; drop table instep_log; -- $1 \\ %`
    const site = await serveOn(await grounds.log('PostgreSQL'), {
      authenticate: async () => ({ userId: odd }),
      maxBodyBytes: 1_000,
      rateLimit: rateLimiter({ endpoints: { delta: { requests: 1, windowMs: 60_000 } } }),
    })
    const post = (body: string, headers: Record<string, string> = {}) =>
      site.ask('tx', { method: 'POST', headers, body })
    expect((await post(' '.repeat(1_001))).status).toBe(413)
    expect((await post('{}', { 'content-encoding': 'gzip' })).status).toBe(415)
    const op = { op: 'i', t: odd, id: odd, p: { [odd]: odd } }
    const answer = await post(JSON.stringify({ txs: [{ id: odd, since: 0, ops: [op] }] }))
    expect(await answer.json()).toMatchObject({ sid: 1, results: [{ id: odd, sid: 1 }] })
    expect((await site.json('bootstrap')).rows).toMatchObject([{ t: odd, id: odd, p: { [odd]: odd } }])
    expect((await site.ask('delta?since=0')).status).toBe(200)
    const limited = await site.ask('delta?since=0')
    expect([limited.status, limited.headers.has('retry-after')]).toEqual([429, true])
  })

  test('invariant 62: who comes to another organization keeps no row of the old one, and gets all of the new one', async () => {
    let organizationId = 'acme'
    const site = await serveOn(await grounds.log('PostgreSQL'), {
      ownerField: 'organizationId',
      authenticate: async () => ({ userId: 'ann', organizationId }),
    })
    const todo = (id: string, owner: string) =>
      ({ op: 'i', t: 'Todo', id, p: { organizationId: owner } }) as const
    await site.service.write([todo('z1', 'zeta'), todo('a1', 'acme'), todo('z2', 'zeta')])
    const client = new SyncClient({ baseUrl: site.url, token: 'any', identity: 'ann', store: memoryStore() })
    const idsOf = () => client.all('Todo').map(({ id }) => id)
    await client.start()
    await client.ready()
    await expect.poll(() => client.status.connection.state).toBe('socket')
    await client.sync()
    expect(idsOf()).toEqual(['a1'])
    organizationId = 'zeta'
    site.service.revoke(({ userId }) => userId === 'ann')
    await site.service.write([todo('a2', 'acme'), todo('z3', 'zeta')])
    await client.sync()
    await expect.poll(() => idsOf().sort()).toEqual(['z1', 'z2', 'z3'])
    await client.close()
  })

  test('invariant 63: a token that lives for 30 days keeps its socket for 30 days', async () => {
    const log = await grounds.log('PostgreSQL')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const day = 86_400_000
    const service = createSyncService({
      database: log,
      authenticate: async () => ({ userId: 'ann', expiresAt: Date.now() + 30 * day }),
      ownerField: 'userId',
      heartbeatMs: day,
    })
    const socket = new FakeSocket()
    await service.connect(socket, requestTo('ws', 'ann'))
    const greeted = async () => {
      while (socket.texts.length === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await greeted()
    vi.advanceTimersByTime(30 * day - 1_000)
    expect(socket.closed).toBeUndefined()
    vi.advanceTimersByTime(1_000)
    expect(socket.closed).toEqual([4401, 'token_expired'])
    vi.useRealTimers()
    await service.close()
  })

  test('invariant 64: a preflight needs no token, any page can read a 401, and no proxy keeps an answer', async () => {
    const { ask } = await serveOn(await grounds.log('PostgreSQL'))
    const origin = 'https://app.test'
    const asking = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    }
    const preflight = await ask('tx', { user: '', method: 'OPTIONS', headers: { origin, ...asking } })
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'Authorization,Content-Type,X-API-Key',
    ])
    for (const [path, user, status] of [
      ['bootstrap', 'ann', 200],
      ['delta?since=0', 'ann', 200],
      ['bootstrap', '', 401],
      ['elsewhere', 'ann', 404],
    ] as const) {
      const { headers, status: actual } = await ask(path, { user, headers: { origin } })
      expect([actual, headers.get('access-control-allow-origin'), headers.get('cache-control')]).toEqual([
        status,
        '*',
        'no-store',
      ])
    }
  })
})
