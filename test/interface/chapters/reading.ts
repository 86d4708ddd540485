import { describe, expect, test } from 'vitest'
import { insert, remove, update } from '../../server/harness.ts'
import type { Kind } from '../grounds.ts'
import type { Serve } from '../site.ts'

export function describeReading(kind: Kind, serve: Serve): void {
  describe(`Bootstrap, on ${kind}`, () => {
    test('GET, with neither body nor query, gives all rows and the highest sid that is in them', async () => {
      const { service, json, ask } = await serve()
      await service.write([insert('1', { title: 'a' }), insert('2', { title: 'b' })])
      await service.write([update('1', { title: 'c' })])
      expect((await ask('bootstrap')).status).toBe(200)
      const { sid, rows } = await json('bootstrap')
      expect(sid).toBe(3)
      expect([...rows].sort((a, b) => (a.id < b.id ? -1 : 1))).toMatchObject([
        { t: 'Todo', id: '1', p: { userId: 'ann', title: 'c' } },
        { t: 'Todo', id: '2', p: { userId: 'ann', title: 'b' } },
      ])
    })

    test('POST gives the same as GET', async () => {
      const { service, json } = await serve()
      await service.write([insert('1')])
      expect(await json('bootstrap', { method: 'POST' })).toEqual(await json('bootstrap'))
    })

    test('a row is a type and an id, which are texts, a version, which is a number, and an object of fields', async () => {
      const { service, json } = await serve()
      await service.write([insert('1')])
      expect((await json('bootstrap')).rows).toEqual([
        { t: expect.any(String), id: expect.any(String), v: expect.any(Number), p: { userId: 'ann' } },
      ])
    })

    test('fields are of any name, and times in them are numbers of milliseconds, exact to the last', async () => {
      const { service, json } = await serve()
      const fields = { 'due at': 1_767_225_599_999, größe: 1.5, constructor: null, list: [{ a: true }] }
      await service.write([insert('1', fields)])
      expect((await json('bootstrap')).rows[0]?.p).toEqual({ userId: 'ann', ...fields })
    })

    test('a caller who has nothing yet gets a snapshot all the same', async () => {
      expect(await (await serve()).json('bootstrap')).toMatchObject({ sid: 0, rows: [] })
    })

    test('it is compressed on its way for whoever takes that', async () => {
      const { service, ask } = await serve()
      await service.write(Array.from({ length: 200 }, (_, n) => insert(String(n))))
      for (const coding of ['gzip', 'identity']) {
        const response = await ask('bootstrap', { headers: { 'accept-encoding': coding } })
        expect(response.headers.get('content-encoding') ?? 'identity').toBe(coding)
        expect((await response.json()).rows).toHaveLength(200)
      }
    })

    test('the whole of a dataset comes at once, whatever its size', async () => {
      const { service, json } = await serve()
      for (const start of [0, 1_000, 2_000]) {
        await service.write(Array.from({ length: 1_000 }, (_, n) => insert(String(start + n))))
      }
      expect(new Set((await json('bootstrap')).rows.map(({ id }) => id)).size).toBe(3_000)
    })
  })

  describe(`Delta, on ${kind}`, () => {
    test('GET with `since` gives, as JSON, the changes after it and the latest sid, and no row', async () => {
      const { service, ask } = await serve()
      await service.write([insert('1'), insert('2')])
      await service.write([insert('3')])
      const response = await ask('delta?since=1')
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
      const delta = await response.json()
      expect(delta).toMatchObject({
        sid: 3,
        frames: [
          { sid: 2, id: '2' },
          { sid: 3, id: '3' },
        ],
      })
      expect(['rows', 't', 'id', 'p'].filter((field) => field in delta)).toEqual([])
    })

    test('after a snapshot it brings what came since, and never that again', async () => {
      const { service, json } = await serve()
      await service.write([insert('1')])
      const { sid } = await json('bootstrap')
      await service.write([insert('2')])
      const delta = await json(`delta?since=${sid}`)
      expect(delta.frames.map(({ id }) => id)).toEqual(['2'])
      expect((await json(`delta?since=${delta.sid}`)).frames).toEqual([])
    })

    test('where nothing has changed, its sid is `since` itself and its frames are an empty list', async () => {
      const { service, json } = await serve()
      expect(await json('delta?since=0')).toMatchObject({ sid: 0, frames: [] })
      await service.write([insert('1')])
      expect(await json('delta?since=1')).toMatchObject({ sid: 1, frames: [] })
    })

    test('`since` is asked for in the query, as a number', async () => {
      const { ask } = await serve()
      const statuses = ['delta', 'delta?since=', 'delta?since=x', 'delta?since=-1', 'delta?since=0'].map(
        async (path) => (await ask(path)).status,
      )
      expect(await Promise.all(statuses)).toEqual([400, 400, 400, 400, 200])
    })
  })

  describe(`A frame, on ${kind}`, () => {
    test('has a sid above every earlier one, and frames are listed as these ascend', async () => {
      const { service, json, send } = await serve()
      await service.write([insert('1'), insert('2')])
      await send([update('1', { n: 1 }), update('2', { n: 1 })])
      await service.write([insert('3')])
      const sids = (await json('delta?since=0')).frames.map(({ sid }) => sid)
      expect(sids).toEqual([1, 2, 3, 4, 5])
    })

    test('of an insert carries the new fields, of an update those that changed, of a removal none', async () => {
      const { send, json } = await serve()
      await send([{ op: 'i', t: 'Todo', id: '1', p: { a: 1, b: 2 } }])
      await send([update('1', { b: 3 })])
      const changed = (await json('delta?since=0')).frames
      await send([remove('1')])
      const frames = [...changed, ...(await json('delta?since=2')).frames]
      expect(frames).toMatchObject([
        { t: 'Todo', id: '1', op: 'i', p: { userId: 'ann', a: 1, b: 2 } },
        { t: 'Todo', id: '1', op: 'u', p: { b: 3 } },
        { t: 'Todo', id: '1', op: 'd' },
      ])
      expect(frames.map((frame) => Object.keys('p' in frame ? frame.p : {}).length)).toEqual([3, 1, 0])
    })

    test('of a record that is gone is its removal alone', async () => {
      const { send, json } = await serve()
      await send([{ op: 'i', t: 'Todo', id: '1', p: { secret: 1 } }])
      await send([remove('1')])
      const { frames } = await json('delta?since=0')
      expect(new Set(frames.map(({ op }) => op))).toEqual(new Set(['d']))
      expect(JSON.stringify(frames)).not.toContain('secret')
    })

    test('says when the change was made, in milliseconds since 1970', async () => {
      const { service, json } = await serve()
      const before = Date.now()
      await service.write([insert('1')])
      const { frames } = await json('delta?since=0')
      expect(frames[0]?.at).toBeGreaterThanOrEqual(before)
      expect(frames[0]?.at).toBeLessThanOrEqual(Date.now())
    })
  })
}
