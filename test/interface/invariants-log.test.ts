import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TxResponse } from '../../src/protocol/tx.ts'
import { insert } from '../server/harness.ts'
import { sendRaw, wire } from '../server-fuzz/raw.ts'
import { type Grounds, openGrounds } from './grounds.ts'
import { type Site, serveOn, tokenOf } from './site.ts'

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
  /** Breaks the commit of each write about the record `x` until it is mended. */
  const broken = async () => {
    await grounds.run(
      kind,
      `create function break_x() returns trigger language plpgsql as
        $$ begin raise exception using errcode = 'P0001', message = 'of the database alone'; end $$`,
      `create constraint trigger break_x after insert on instep_log deferrable initially deferred
        for each row when (new.id = 'x') execute function break_x()`,
    )
    return () => grounds.run(kind, 'drop trigger break_x on instep_log', 'drop function break_x')
  }

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

  test('invariant 14: a snapshot on its way is of one moment, whatever is written and forgotten meanwhile', async () => {
    const site = await serveOn(await grounds.log(kind))
    const text = 'x'.repeat(3_000)
    for (const start of [0, 1_000, 2_000]) {
      await site.service.write(
        Array.from({ length: 1_000 }, (_, n) => insert(String(start + n), { n: 0, text })),
      )
    }
    const headers = { 'accept-encoding': 'identity' }
    const answers = [await site.ask('bootstrap', { headers }), await site.ask('delta?since=0', { headers })]
    await site.service.write([{ op: 'u', t: 'Todo', id: '2999', p: { n: 1 } }, insert('late', { n: 1 })])
    await site.log.trim(3_002)
    for (const answer of answers) {
      const { sid, rows, frames } = await answer.json()
      expect([sid, (rows ?? frames).map(({ p }: { p: { n: number } }) => p.n)]).toEqual([
        3_000,
        Array.from({ length: 3_000 }, () => 0),
      ])
    }
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

  test('invariant 17: a write that is rolled back makes no frame and takes no number, and nobody waits for one', async () => {
    const site = await serveOn(await grounds.log(kind))
    const { pushes } = await site.listen()
    await site.service.write([insert('1')])
    const mend = await broken()
    await expect(site.service.write([insert('2'), insert('x')])).rejects.toThrow('of the database alone')
    await mend()
    await site.service.write([insert('3')])
    expect(await changesAfter(site, 0)).toEqual({ sid: 2, ids: ['1', '3'] })
    await expect
      .poll(() => pushes)
      .toMatchObject([
        { since: 0, sid: 1, frames: [{ id: '1' }] },
        { since: 1, sid: 2, frames: [{ id: '3' }] },
      ])
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

  test('invariant 20: where a commit fails there is neither effect nor frame nor verdict, and the next try does it', async () => {
    const site = await serveOn(await grounds.log(kind))
    const mend = await broken()
    const failed = await site.ask('tx', { method: 'POST', body: txOf('a', ['1', 'x']) })
    expect(failed.status).toBe(500)
    expect(await failed.text()).not.toContain('of the database alone')
    await mend()
    expect(await site.json('bootstrap')).toMatchObject({ sid: 0, rows: [] })
    for (let time = 0; time < 2; time += 1) {
      expect(await post(site, txOf('a', ['1', 'x']))).toEqual({ id: 'a', sid: 2 })
    }
    expect(await changesAfter(site, 0)).toEqual({ sid: 2, ids: ['1', 'x'] })
  })

  test('invariant 21: whoever lost the answer asks again, and gets it, without a second frame', async () => {
    const site = await serveOn(await grounds.log(kind))
    for (const [id, ids] of [
      ['a', ['1']],
      ['b', ['1']],
    ] as const) {
      const body = txOf(id, ids)
      const head = [
        `Authorization: Bearer ${await tokenOf('ann')}`,
        `Content-Length: ${body.length}`,
        'Host: x',
      ]
      const answered = () => site.lines.filter((line) => line.includes('/tx')).length
      const before = answered()
      await sendRaw(site.port, wire('POST /sync/v1/tx HTTP/1.1', head, body), { after: 'reset' })
      await expect.poll(answered).toBe(before + 1)
    }
    await site.service.write([insert('2')])
    expect(await post(site, txOf('a', ['1']))).toEqual({ id: 'a', sid: 1 })
    expect(await post(site, txOf('b', ['1']))).toMatchObject({ id: 'b', error: { code: 'exists' } })
    expect(await changesAfter(site, 0)).toEqual({ sid: 2, ids: ['1', '2'] })
  })
})
