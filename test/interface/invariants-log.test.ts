import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TxResponse } from '../../src/protocol/tx.ts'
import { rateLimiter } from '../../src/server/index.ts'
import { insert } from '../server/harness.ts'
import { type Grounds, openGrounds } from './grounds.ts'
import { type Site, serveOn } from './site.ts'

let grounds: Grounds

beforeAll(async () => {
  grounds = await openGrounds()
})

afterAll(() => grounds.close())

const txOf = (id: string, ids: readonly string[]) =>
  JSON.stringify({
    txs: [{ id, since: 0, ops: ids.map((each) => ({ op: 'i', t: 'Todo', id: each, p: {} })) }],
  })

async function post(site: Site, body: string): Promise<TxResponse['results'][number] | undefined> {
  const response = await site.ask('tx', { method: 'POST', body })
  const { results = [] }: Partial<TxResponse> = await response.json()
  return results[0]
}

/** The ids of the changes after `since`, and where they end. */
async function changesAfter(site: Site, since: number) {
  const { sid, frames } = await site.json(`delta?since=${since}`)
  return { sid, ids: frames.map(({ id }) => id) }
}

/** What the clients of a service on a database may rely on, seen from outside. */
describe.each(['PGlite', 'PostgreSQL'] as const)('on %s', (kind) => {
  test('invariant 13: of what 8 clients write at once, whoever reads on from a position misses nothing', async () => {
    const site = await serveOn(await grounds.log(kind))
    const { pushes } = await site.listen()
    let writing = true
    const write = async (writer: number) => {
      for (let n = 0; n < 12; n += 1)
        await post(site, txOf(`${writer}-${n}`, [`${writer}-${n}a`, `${writer}-${n}b`]))
    }
    const done = Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer))).then(() => {
      writing = false
    })
    const seen: string[] = []
    for (let since = 0, last = false; !last; ) {
      last = !writing
      const { sid, ids } = await changesAfter(site, since)
      seen.push(...ids)
      if (sid > since) last = false
      since = sid
    }
    await done
    const all = (await site.json('bootstrap')).rows.map(({ id }) => id).sort()
    expect(all).toHaveLength(192)
    expect(seen.sort()).toEqual(all)
    const pushed = () => pushes.flatMap(({ frames }) => frames.map(({ id }) => id)).sort()
    await expect.poll(pushed).toEqual(all)
  })

  test('invariant 15: what is committed between a snapshot and the opening of the socket is delivered', async () => {
    const site = await serveOn(await grounds.log(kind), { heartbeatMs: 1_000_000 })
    let writing = true
    const write = async () => {
      let n = 0
      for (; writing; n += 1) {
        await site.service.write([insert(String(n))])
        // What is within this process may be done before anybody else has a turn.
        await new Promise((resolve) => setImmediate(resolve))
      }
      return n
    }
    const done = write()
    const follow = async () => {
      const { sid: start, rows } = await site.json('bootstrap')
      const { hello, pushes } = await site.listen()
      const ids = new Set(rows.map(({ id }) => id))
      for (let sid = start, first = true; first || sid < hello.sid; first = false) {
        const delta = await changesAfter(site, sid)
        for (const id of delta.ids) ids.add(id)
        sid = delta.sid
      }
      return () => {
        for (const { frames } of pushes) for (const { id } of frames) ids.add(id)
        return ids.size
      }
    }
    const sizes = [await follow(), await follow(), await follow()]
    writing = false
    const count = await done
    expect(count).toBeGreaterThan(0)
    await expect.poll(() => sizes.map((size) => size())).toEqual(sizes.map(() => count))
  })

  test('invariant 19: one id sent ten times at once and once more later is done once, and answered alike', async () => {
    const site = await serveOn(await grounds.log(kind))
    const body = txOf('a', ['1', '2'])
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(site, body)))
    await site.service.write([insert('3')])
    answers.push(await post(site, body))
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(new Set(['{"id":"a","sid":2}']))
    expect(await changesAfter(site, 0)).toEqual({ sid: 3, ids: ['1', '2', '3'] })
  })

  test('invariant 57: what is too long, too packed or too often is refused, and what looks like SQL is text', async () => {
    const odd = `o'x"; drop table instep_log; -- $1 \\ %`
    const site = await serveOn(await grounds.log(kind), {
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
})
