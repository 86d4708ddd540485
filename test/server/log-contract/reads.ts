import { describe, expect } from 'vitest'
import type { SyncFrame } from '../../../src/protocol/frame.ts'
import type { WireRow } from '../../../src/protocol/row.ts'
import { insert, remove, update } from '../harness.ts'
import { as, asService, framesOf, items, type LogTest, rowsOf, txOf } from './support.ts'

export function describeReads(what: string, logTest: LogTest): void {
  describe(`${what}: reads`, () => {
    logTest('returns the records of each owner', async (log) => {
      const sid = await log.write([insert('1'), insert('2', {}, 'bob')], asService)
      expect((await rowsOf(log)).map(({ id }) => id)).toEqual(['1'])
      expect((await log.snapshot(['ann'])).count).toBe(1)
      expect((await framesOf(log, 0, 'bob')).map(({ id }) => id)).toEqual(['2'])
      expect((await log.delta(['ann'], 0)).head).toBe(sid)
      expect((await log.snapshot(['cid'])).count).toBe(0)
    })

    logTest('returns the records of several owners, with their changes in order', async (log) => {
      const ops = [insert('1', {}, 'bob'), insert('2'), insert('3', {}, 'cid'), insert('4', {}, 'bob')]
      await log.write(ops, asService)
      await log.write([update('2', { n: 1 }), remove('1')], asService)
      expect((await rowsOf(log, 'ann', 'bob')).map(({ id }) => id).sort()).toEqual(['2', '4'])
      expect((await log.snapshot(['bob', 'ann'])).count).toBe(2)
      const frames = await framesOf(log, 1, 'bob', 'ann', 'dan')
      expect(frames.map(({ sid, op, id }) => `${sid} ${op} ${id}`)).toEqual([
        '2 i 2',
        '4 i 4',
        '5 u 2',
        '6 d 1',
      ])
    })

    logTest('returns nothing without an owner', async (log) => {
      const head = await log.write([insert('1')], asService)
      expect(await items(await log.snapshot([]))).toEqual([])
      expect(await log.snapshot([])).toMatchObject({ head, count: 0 })
      expect(await items(await log.delta([], 0))).toEqual([])
      expect(await log.delta([], 0)).toMatchObject({ head })
    })

    logTest('returns more than a batch of several owners, in order', async (log) => {
      const ops = Array.from({ length: 2_500 }, (_, n) => insert(String(n), {}, `owner-${n % 20}`))
      await log.write(ops, asService)
      const owners = Array.from({ length: 20 }, (_, n) => `owner-${n}`)
      expect(await rowsOf(log, ...owners)).toHaveLength(2_500)
      const sids = (await framesOf(log, 0, ...owners)).map(({ sid }) => sid)
      expect(sids).toEqual(Array.from({ length: 2_500 }, (_, n) => n + 1))
    })

    logTest('reads the names of owners as plain names', async (log) => {
      const owners = ['{a,b}', 'a"b', "o'brien", 'back\\slash', 'null', 'NULL', ' a ', '']
      await log.write(
        owners.slice(0, -1).map((owner, n) => insert(String(n), {}, owner)),
        asService,
      )
      expect(await rowsOf(log, ...owners, 'a\0')).toHaveLength(owners.length - 1)
      expect(await framesOf(log, 0, ...owners, '\ud800')).toHaveLength(owners.length - 1)
      expect(await rowsOf(log, 'a', 'b', 'null ')).toEqual([])
    })

    logTest('returns only the whole record to a caller of both owners of a move', async (log) => {
      const from = await log.write([insert('1', { n: 1 })], asService)
      await log.write([update('1', { userId: 'bob' })], asService)
      const of = async (...owners: readonly string[]) =>
        (await framesOf(log, from, ...owners)).map((frame) => [
          frame.sid,
          frame.op,
          'p' in frame ? frame.p.n : undefined,
        ])
      expect(await of('ann')).toEqual([[2, 'd', undefined]])
      expect(await of('ann', 'cid')).toEqual([[2, 'd', undefined]])
      expect(await of('bob', 'cid')).toEqual([[3, 'i', 1]])
      expect(await of('bob', 'ann')).toEqual([[3, 'i', 1]])
      const { changes } = await log.changes(from, 10)
      expect(changes.map(({ owner, movedTo }) => [owner, movedTo])).toEqual([
        ['ann', 'bob'],
        ['bob', undefined],
      ])
    })

    logTest('reads one moment, however long its batches take', async (log) => {
      await log.write([insert('1', { n: 1 }), insert('2')], asService)
      const [snapshot, delta] = [await log.snapshot(['ann']), await log.delta(['ann'], 0)]
      const later = log.write([update('1', { n: 2 }), remove('2'), insert('3')], asService)
      const [rows, frames] = [await items<WireRow>(snapshot), await items<SyncFrame>(delta)]
      await later
      expect([snapshot.count, rows.map(({ id, p }) => `${id} ${p.n}`)]).toEqual([2, ['1 1', '2 undefined']])
      expect(frames).toHaveLength(2)
    })

    logTest('returns only the removal of a removed record', async (log) => {
      const first = await log.write([insert('1', { secret: 1 }), insert('2')], asService)
      await log.write([update('1', { secret: 2 }), update('2', { n: 1 })], asService)
      const head = await log.write([remove('1')], asService)
      expect(await framesOf(log, 0)).toMatchObject([
        { sid: first, id: '2', op: 'i' },
        { sid: head - 1, id: '2', op: 'u' },
        { sid: head, id: '1', op: 'd' },
      ])
      expect(await framesOf(log, head - 1)).toMatchObject([{ sid: head, id: '1', op: 'd' }])
      expect((await log.delta(['ann'], 0)).head).toBe(head)
    })

    logTest(
      'says that it contains a transaction whose change was replaced, without its fields',
      async (log) => {
        await log.transact(txOf('a', [insert('1', { secret: 1 })]), as('ann'))
        const head = await log.write(
          [{ op: 'i', t: 'Todo', id: '1', p: { userId: 'ann', n: 1 }, put: true }],
          asService,
        )
        expect(await framesOf(log, 0)).toEqual([
          { sid: 1, t: 'Todo', id: '1', op: 'd', at: expect.any(Number), tx: 'a' },
          expect.objectContaining({ sid: head, op: 'i' }),
        ])
      },
    )

    logTest('returns no change of a record from before it was replaced', async (log) => {
      await log.write([insert('1', { secret: 1 }), insert('2', { secret: 1 })], asService)
      await log.write([update('1', { secret: 2 }), remove('1'), insert('1', { n: 1 })], asService)
      const put = { ...insert('2', { n: 2 }), put: true } as const
      const head = await log.write([put, update('1', { n: 3 })], asService)
      expect(await framesOf(log, 0)).toMatchObject([
        { sid: head - 2, id: '1', op: 'i', p: { n: 1 } },
        { sid: head - 1, id: '2', op: 'i', p: { n: 2 } },
        { sid: head, id: '1', op: 'u', p: { n: 3 } },
      ])
    })

    logTest('returns a moved record to its new owner only', async (log) => {
      await log.write([insert('1', { secret: 1 })], asService)
      await log.write([update('1', { userId: 'bob' }), update('1', { n: 1 })], asService)
      expect((await framesOf(log)).map(({ op }) => op)).toEqual(['d'])
      expect((await framesOf(log, 0, 'bob')).map(({ op }) => op)).toEqual(['i', 'u'])
    })

    logTest('returns the rest of a record’s changes after a trim', async (log) => {
      const first = await log.write([insert('1'), insert('2')], asService)
      await log.write([update('1', { n: 1 }), update('2', { n: 1 }), remove('2')], asService)
      await log.trim(first)
      expect((await framesOf(log, first)).map(({ id, op }) => `${id} ${op}`)).toEqual(['1 u', '2 d'])
    })

    logTest('can end in the middle of a read', async (log) => {
      await log.write([insert('1')], asService)
      for await (const batch of (await log.snapshot(['ann'])).batches) {
        expect(batch).not.toBe('')
        break
      }
      await log.write([insert('2')], asService)
      expect(await rowsOf(log)).toHaveLength(2)
    })

    logTest('returns more than one batch', async (log) => {
      await log.write(
        Array.from({ length: 2_500 }, (_, n) => insert(String(n))),
        asService,
      )
      expect(await rowsOf(log)).toHaveLength(2_500)
      expect(await framesOf(log)).toHaveLength(2_500)
    })

    logTest('lists the changes of all owners in order, and never ends within a write', async (log) => {
      const first = await log.write([insert('1'), insert('2', {}, 'bob')], asService)
      const second = await log.write([insert('3'), insert('4')], asService)
      const changes = await log.changes(0, 1)
      expect(changes).toMatchObject({ sid: first, head: second, horizon: 0 })
      expect(changes.changes.map(({ owner, frame }) => [owner, JSON.parse(frame).id])).toEqual([
        ['ann', '1'],
        ['bob', '2'],
      ])
      const rest = await log.changes(first, 100)
      expect(rest.sid).toBe(second)
      expect(rest.changes.map(({ sid, frame }) => JSON.parse(frame).sid === sid)).toEqual([true, true])
      expect(await log.changes(second, 100)).toMatchObject({ sid: second, changes: [] })
    })

    logTest('hints at a write until the listener is removed', async (log) => {
      let hints = 0
      let heard = () => {}
      const hint = new Promise<void>((resolve) => {
        heard = resolve
      })
      const unlisten = log.onHint(() => {
        hints += 1
        heard()
      })
      await log.write([insert('1')], asService)
      await hint
      unlisten()
      unlisten()
      const before = hints
      await log.write([insert('2')], asService)
      expect(hints).toBe(before)
    })

    logTest(
      'hints to each who listens, until that one listens no more, though another throws',
      async (log) => {
        let hints = 0
        const listener = () => {
          hints += 1
        }
        log.onHint(() => {
          throw new Error('The listener broke.')
        })
        const unlisten = log.onHint(listener)
        log.onHint(listener)
        unlisten()
        await log.write([insert('1')], asService)
        expect(hints).toBeGreaterThan(0)
        expect(await log.position()).toMatchObject({ head: 1 })
      },
    )

    logTest('forgets changes and keeps records when it is trimmed', async (log) => {
      const first = await log.write([insert('1')], asService)
      const second = await log.write([insert('2')], asService)
      await log.trim(first)
      expect(await log.position()).toMatchObject({ head: second, horizon: first })
      expect(await rowsOf(log)).toHaveLength(2)
      expect(await framesOf(log, first)).toHaveLength(1)
      expect(await log.delta(['ann'], 0)).toMatchObject({ horizon: first })
      expect(await framesOf(log, 0)).toEqual([])
      expect((await log.changes(0, 100)).horizon).toBe(first)
    })

    logTest('is not trimmed to an invalid sid', async (log) => {
      await log.write([insert('1')], asService)
      for (const sid of [Number.NaN, 0.5]) await expect(log.trim(sid)).rejects.toThrow()
      expect(await log.position()).toMatchObject({ head: 1, horizon: 0 })
      expect(await framesOf(log, 0)).toHaveLength(1)
    })

    logTest('trims no further than its head, and never back', async (log) => {
      const head = await log.write([insert('1')], asService)
      await log.trim(head + 1_000)
      await log.trim(0)
      expect(await log.position()).toMatchObject({ head, horizon: head })
      const next = await log.write([insert('2')], asService)
      expect((await framesOf(log, head)).map(({ sid }) => sid)).toEqual([next])
    })
  })
}
