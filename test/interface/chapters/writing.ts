import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { rateLimiter } from '../../../src/server/index.ts'
import { insert, remove, update } from '../../server/harness.ts'
import type { Kind } from '../grounds.ts'
import type { Serve } from '../site.ts'
import { requests } from './credentials.ts'

const models = { Todo: z.object({ userId: z.string(), title: z.string() }) }

export function describeWriting(kind: Kind, serve: Serve): void {
  describe(`Transactions, on ${kind}`, () => {
    test('a client sends its changes by POST, and everybody with the same data gets them', async () => {
      const { ask, json } = await serve({ ownerField: 'organizationId' })
      const ops = [{ op: 'i', t: 'Todo', id: '1', p: { title: 'a' } }]
      const body = JSON.stringify({ txs: [{ id: 'a', since: 0, ops }] })
      const response = await ask('tx', { method: 'POST', body })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ sid: 1, results: [{ id: 'a', sid: 1 }] })
      const { frames } = await json('delta?since=0', { user: 'bob' })
      expect(frames).toMatchObject([{ op: 'i', p: { title: 'a', organizationId: 'acme' } }])
    })

    test('an insert adds a record, an update replaces the fields that it lists, a removal removes', async () => {
      const { send, json } = await serve()
      await send([{ op: 'i', t: 'Todo', id: '1', p: { a: 1, b: 1 } }])
      await send([update('1', { b: 2 })])
      expect((await json('bootstrap')).rows).toMatchObject([{ p: { userId: 'ann', a: 1, b: 2 } }])
      await send([remove('1')])
      expect((await json('bootstrap')).rows).toEqual([])
    })
  })

  describe(`Rules of the application, on ${kind}`, () => {
    test('what breaks its model is rejected alone, with the fields named, and those beside it are done', async () => {
      const { ask, json } = await serve({ models })
      const make = (id: string, title: unknown) => ({ op: 'i', t: 'Todo', id, p: { title } })
      const txs = [[make('1', 'a')], [make('2', 'b'), make('3', 7)], [make('4', 'c')]].map((ops, n) => ({
        id: `tx ${n}`,
        since: 0,
        ops,
      }))
      const response = await ask('tx', { method: 'POST', body: JSON.stringify({ txs }) })
      const issue = { t: 'Todo', id: '3', field: 'title', message: expect.any(String) }
      expect([response.status, await response.json()]).toMatchObject([
        200,
        {
          sid: 2,
          results: [
            { id: 'tx 0', sid: 1 },
            { id: 'tx 1', error: { code: 'invalid', details: { issues: [issue] } } },
            { id: 'tx 2', sid: 2 },
          ],
        },
      ])
      expect((await json('bootstrap')).rows.map(({ id }) => id).sort()).toEqual(['1', '4'])
    })

    test('what `authorize` refuses is rejected alone, and what it allows may name another owner', async () => {
      const { send, json } = await serve({
        authorize: ({ ops }) =>
          ops.some(({ id }) => id === 'locked') ? { message: 'It is locked.' } : { mayChangeOwner: true },
      })
      const refused = await send([{ op: 'i', t: 'Todo', id: 'locked', p: {} }])
      expect(refused).toMatchObject({ error: { code: 'forbidden', message: 'It is locked.' } })
      await send([{ op: 'i', t: 'Todo', id: '1', p: {} }])
      await send([update('1', { userId: 'bob' })])
      expect((await json('bootstrap')).rows).toEqual([])
      expect((await json('bootstrap', { user: 'bob' })).rows).toMatchObject([
        { id: '1', p: { userId: 'bob' } },
      ])
    })
  })

  describe(`Ownership, on ${kind}`, () => {
    test.each([
      ['userId', 'one owner a user', 'ann', ['ann'], ['bob', 'cid']],
      ['organizationId', 'one owner an organization', 'acme', ['ann', 'bob'], ['cid']],
    ] as const)(
      '%s makes %s: snapshot, delta and pushes hold that owner’s, and nobody else’s',
      async (...row) => {
        const [ownerField, , owner, insiders, outsiders] = row
        const site = await serve({ ownerField })
        const { service, json, listen } = site
        const sockets = new Map<string, Awaited<ReturnType<typeof listen>>>()
        for (const user of [...insiders, ...outsiders]) sockets.set(user, await listen(user))
        await service.write([{ op: 'i', t: 'Todo', id: '1', p: { [ownerField]: owner } }])
        await service.write([{ op: 'i', t: 'Todo', id: '2', p: { [ownerField]: 'somebody else' } }])
        const pushesTo = (user: string) => sockets.get(user)?.pushes.flatMap(({ frames }) => frames) ?? []
        for (const user of insiders) {
          expect((await json('bootstrap', { user })).rows).toMatchObject([{ id: '1' }])
          expect((await json('delta?since=0', { user })).frames).toMatchObject([{ id: '1' }])
          await expect.poll(() => pushesTo(user)).toMatchObject([{ id: '1' }])
        }
        for (const user of outsiders) {
          expect((await json('bootstrap', { user })).rows).toEqual([])
          expect((await json('delta?since=0', { user })).frames).toEqual([])
          expect(pushesTo(user)).toEqual([])
        }
      },
    )

    test('with organizations a token names both, the user and the organization, and the caller has both', async () => {
      const seen: object[] = []
      const authorize = (_: unknown, caller: object) => {
        seen.push(caller)
        return undefined
      }
      const { send } = await serve({ ownerField: 'organizationId', authorize })
      for (const user of ['ann', 'bob', 'cid']) await send([remove('none')], user)
      expect(seen).toMatchObject([
        { userId: 'ann', organizationId: 'acme' },
        { userId: 'bob', organizationId: 'acme' },
        { userId: 'cid', organizationId: 'zeta' },
      ])
    })
  })

  describe(`Addresses, on ${kind}`, () => {
    test('the base address ends in the version, and every endpoint is below it and nowhere else', async () => {
      const { url, ask, connect } = await serve()
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sync\/v1$/)
      for (const [method, path, body] of requests) {
        const init = { method, ...(body && { body }) }
        expect((await ask(path, init)).status).toBe(200)
        for (const elsewhere of [`../../${path}`, `../v2/${path}`, `../${path}`, `${path.split('?')[0]}/`]) {
          expect((await ask(elsewhere, init)).status).toBe(404)
        }
      }
      expect((await connect()).status).toBe(401)
    })

    test.each(['login', 'token', 'auth', 'register', 'refresh', 'logout'])(
      'signing in is the application’s own affair: there is nothing at %s',
      async (path) => {
        const { ask } = await serve()
        for (const method of ['GET', 'POST']) expect((await ask(path, { method })).status).toBe(404)
      },
    )
  })

  describe(`Limits, on ${kind}`, () => {
    test('requests are not limited unless the deployment says so', async () => {
      const { ask } = await serve()
      const statuses = await Promise.all(
        Array.from({ length: 120 }, async () => (await ask('delta?since=0')).status),
      )
      expect(new Set(statuses)).toEqual(new Set([200]))
    })

    test('a limit counts all requests of a user together, 100 a minute by default, after authentication', async () => {
      const { ask, connect } = await serve({ rateLimit: rateLimiter() })
      const paths = ['bootstrap', 'delta?since=0']
      const statusOf = async (n: number) => (await ask(paths[n % 2] ?? '')).status
      const statuses = await Promise.all(Array.from({ length: 102 }, (_, n) => statusOf(n)))
      expect(statuses.filter((status) => status === 200)).toHaveLength(100)
      expect(statuses.filter((status) => status === 429)).toHaveLength(2)
      expect((await ask('bootstrap', { user: 'bob' })).status).toBe(200)
      expect((await ask('bootstrap', { user: '' })).status).toBe(401)
      expect((await connect({ authorization: 'Bearer wrong' })).status).toBe(401)
    })

    test('an endpoint can have a limit of its own', async () => {
      const endpoints = { bootstrap: { requests: 1, windowMs: 60_000 } }
      const { ask } = await serve({ rateLimit: rateLimiter({ endpoints }) })
      const statuses = []
      for (const path of ['bootstrap', 'bootstrap', 'delta?since=0']) statuses.push((await ask(path)).status)
      expect(statuses).toEqual([200, 429, 200])
    })
  })

  describe(`The outlasting of history, on ${kind}`, () => {
    test('a delta from before what is remembered is answered with 410, and a snapshot still with all rows', async () => {
      const { service, log, ask, json } = await serve()
      await service.write([insert('1'), insert('2'), insert('3')])
      await log.trim(2)
      expect((await ask('delta?since=1')).status).toBe(410)
      expect(await json('delta?since=2')).toMatchObject({ sid: 3, frames: [{ id: '3' }] })
      expect((await json('bootstrap')).rows).toHaveLength(3)
    })
  })
}
