import { describe, expect, test } from 'vitest'
import { apiKeyAuthentication, bearerToken, memoryKeyStore } from '../../../src/server/index.ts'
import type { Log } from '../../../src/server/log/log.ts'
import type { Kind } from '../grounds.ts'
import { type Serve, type Site, tokenOf } from '../site.ts'

/** One request for each endpoint. */
export const requests: readonly (readonly [method: string, path: string, body?: string])[] = [
  ['GET', 'bootstrap'],
  ['POST', 'bootstrap'],
  ['GET', 'delta?since=0'],
  ['POST', 'tx', '{"txs":[{"id":"a","since":0,"ops":[{"op":"d","t":"Todo","id":"1"}]}]}'],
]

/** The status and the error of each endpoint's answer to whoever sends `headers`, the socket's last. */
export async function answersTo(site: Site, headers: Record<string, string>) {
  const answers: (readonly [status: number, code: string | undefined])[] = []
  for (const [method, path, body] of requests) {
    const response = await site.ask(path, { user: '', method, headers, ...(body && { body }) })
    answers.push([response.status, (await response.json()).error?.code])
  }
  const { status, body } = await site.connect(headers)
  return [...answers, [status, body === '' ? undefined : JSON.parse(body).error.code] as const]
}

export const letIn = [...requests.map(() => [200, undefined]), [101, undefined]]

export function refusedWith(code: string) {
  return [...requests, 'the socket'].map(() => [401, code])
}

export function describeCredentials(kind: Kind, log: () => Promise<Log>, serve: Serve): void {
  describe(`Authentication, on ${kind}`, () => {
    test('the function that the application gives is asked once about each request, a socket’s too', async () => {
      const asked: string[] = []
      const authenticate = async ({ url }: Request) => {
        asked.push(new URL(url).pathname.slice('/sync/v1/'.length))
        return { userId: 'ann' }
      }
      const site = await serve({ authenticate })
      expect(await answersTo(site, {})).toEqual(letIn)
      expect(asked).toEqual(['bootstrap', 'bootstrap', 'delta', 'tx', 'ws'])
    })

    test('for a caller who is nobody no endpoint does anything, and all answer 401', async () => {
      const touched: unknown[] = []
      const watched = new Proxy(await log(), {
        get(target, name) {
          if (!['claim', 'position', 'close', 'then'].includes(String(name))) touched.push(name)
          const value: unknown = Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      const site = await serve({ database: watched, authenticate: async () => null })
      expect(await answersTo(site, {})).toEqual(refusedWith('no_token'))
      expect(await answersTo(site, { authorization: 'Bearer x' })).toEqual(refusedWith('invalid_token'))
      expect(touched).toEqual([])
    })

    test('who was found out is handed on to the rules of the application, and is whose data is shown', async () => {
      const seen: object[] = []
      const site = await serve({
        authorize: (_, caller) => {
          seen.push(caller)
          return undefined
        },
      })
      await site.send([{ op: 'i', t: 'Todo', id: '1', p: {} }])
      expect(seen).toMatchObject([{ userId: 'ann', organizationId: 'acme' }])
      expect((await site.json('bootstrap')).rows).toHaveLength(1)
      expect((await site.json('bootstrap', { user: 'bob' })).rows).toEqual([])
    })

    test('a bearer token in the header counts everywhere', async () => {
      const authorization = `Bearer ${await tokenOf('ann')}`
      expect(await answersTo(await serve(), { authorization })).toEqual(letIn)
    })

    test('a token in the query opens a socket', async () => {
      const { status, listening } = await (await serve()).connect({}, `?token=${await tokenOf('ann')}`)
      expect([status, listening?.hello.sid]).toEqual([101, 0])
    })

    test('a token in the query is not looked at where a header has one, right or wrong', async () => {
      const site = await serve()
      await site.service.write([{ op: 'i', t: 'Todo', id: '1', p: { userId: 'bob' } }])
      const query = `?token=${await tokenOf('ann')}`
      expect(await site.connect({ authorization: 'Bearer wrong' }, query)).toMatchObject({ status: 401 })
      const bob = { authorization: `Bearer ${await tokenOf('bob')}` }
      const { listening } = await site.connect(bob, query)
      await site.service.write([{ op: 'u', t: 'Todo', id: '1', p: { n: 1 } }])
      await expect.poll(() => listening?.pushes).toMatchObject([{ frames: [{ id: '1' }] }])
    })

    test('a token in the query counts for no request over HTTP', async () => {
      const site = await serve()
      const query = `token=${await tokenOf('ann')}`
      for (const path of [`bootstrap?${query}`, `delta?since=0&${query}`, `tx?${query}`]) {
        expect((await site.ask(path, { user: '', method: 'POST', body: '{}' })).status).toBe(401)
        expect((await site.ask(path, { user: '' })).status).toBe(401)
      }
    })

    test('a key in X-API-Key counts everywhere, where the deployment has chosen keys', async () => {
      const store = memoryKeyStore()
      const { secret: key } = await store.create({ userId: 'ann' })
      const site = await serve({ authenticate: apiKeyAuthentication({ store }) })
      expect(await answersTo(site, { 'x-api-key': key })).toEqual(letIn)
      expect(await answersTo(site, { authorization: `Bearer ${key}` })).toEqual(refusedWith('no_token'))
    })

    test('a failed authentication is logged with its path and its reason, and no token ever is', async () => {
      const site = await serve()
      const [good, expired] = [await tokenOf('ann'), await tokenOf('ann', -60_000)]
      for (const token of [good, expired, `${good}x`]) {
        await answersTo(site, { authorization: `Bearer ${token}` })
        await site.connect({}, `?token=${token}`)
      }
      const failures = site.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40)
      const seen = failures.map(({ msg, path, code }) => `${msg} ${path} ${code}`)
      expect(seen).toContain('Authentication failed. /sync/v1/bootstrap token_expired')
      expect(seen).toContain('Authentication failed. /sync/v1/ws invalid_token')
      expect(seen).toHaveLength(12)
      for (const part of [...good.split('.'), ...expired.split('.')].filter((part) => part.length > 40)) {
        expect(site.lines.join()).not.toContain(part)
      }
    })

    test('an application may authenticate by whatever else a request carries', async () => {
      const authenticate = async (request: Request) =>
        bearerToken(request) === undefined && request.headers.get('x-user') !== null
          ? { userId: String(request.headers.get('x-user')) }
          : null
      const site = await serve({ authenticate })
      expect(await answersTo(site, { 'x-user': 'ann' })).toEqual(letIn)
      expect(await answersTo(site, {})).toEqual(refusedWith('no_token'))
    })
  })
}
