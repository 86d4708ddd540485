import { describe, expect } from 'vitest'
import type { TxOp } from '../../../src/protocol/tx.ts'
import type { Log, Rules } from '../../../src/server/log/log.ts'
import { insert, remove, update } from '../harness.ts'
import { as, asService, framesOf, type LogTest, rowsOf, txOf } from './support.ts'

/** An op that brings back what the transaction `tx` has removed. */
const restore = (id: string, tx: string): TxOp => ({
  op: 'i',
  t: 'Todo',
  id,
  p: {},
  was: null,
  restores: tx,
})

export function describeRestores(what: string, logTest: LogTest): void {
  describe(`${what}: \`restores\``, () => {
    const send = (log: Log, id: string, ops: readonly TxOp[], more: Parameters<typeof txOf>[2] = {}) =>
      log.transact(txOf(id, ops, more), as(...(more.owners ?? ['ann'])))
    const isUnknown = { error: { code: 'not_found' } }

    logTest('brings a removed record back as it was', async (log) => {
      await log.write([insert('1', { n: 1, by: 'bob' })], asService)
      await send(log, 'a', [remove('1')])
      await send(log, 'b', [restore('1', 'a')])
      const p = { userId: 'ann', n: 1, by: 'bob' }
      expect((await rowsOf(log))[0]?.p).toEqual(p)
      expect((await framesOf(log)).at(-1)).toMatchObject({ op: 'i', p, tx: 'b' })
    })

    logTest('brings back what was there before the whole transaction', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      await send(log, 'a', [update('1', { n: 2 }), remove('1')])
      await send(log, 'b', [restore('1', 'a')])
      expect((await rowsOf(log))[0]?.p).toEqual({ userId: 'ann', n: 1 })
    })

    logTest('brings back what an earlier transaction of the same group has written', async (log) => {
      const sent = [
        send(log, 'a', [insert('1', { n: 1 })]),
        send(log, 'b', [update('1', { n: 2 })]),
        send(log, 'c', [remove('1')]),
        send(log, 'd', [restore('1', 'c')]),
        send(log, 'e', [update('1', { m: 3 })]),
      ]
      expect(await Promise.all(sent)).toEqual(sent.map(() => ({ sid: expect.any(Number) })))
      expect((await rowsOf(log))[0]?.p).toEqual({ userId: 'ann', n: 2, m: 3 })
    })

    logTest('works again for each removal', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      for (const n of [1, 2, 3]) {
        await send(log, `a${n}`, [remove('1')])
        await send(log, `b${n}`, [restore('1', `a${n}`)])
      }
      expect((await rowsOf(log))[0]?.p).toEqual({ userId: 'ann', n: 1 })
    })

    logTest('does nothing if there is a record', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      await send(log, 'a', [remove('1')])
      const head = await log.write([insert('1', { n: 2 })], asService)
      expect(await send(log, 'b', [restore('1', 'a')])).toEqual({ sid: head })
    })

    logTest('does nothing if somebody else has removed the record since', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      await send(log, 'a', [remove('1')])
      await log.write([insert('1', { n: 2 })], asService)
      const head = await log.write([remove('1')], asService)
      expect(await send(log, 'b', [restore('1', 'a')])).toEqual({ sid: head })
      expect(await rowsOf(log)).toEqual([])
      // What else the transaction takes back, it does.
      await log.write([insert('2', { n: 2 })], asService)
      await send(log, 'c', [remove('2')])
      await send(log, 'd', [restore('1', 'a'), restore('2', 'c')])
      expect((await rowsOf(log)).map(({ id }) => id)).toEqual(['2'])
    })

    logTest('does nothing if the transaction has removed nothing', async (log) => {
      await log.write([insert('1', { n: 1 }), insert('2')], asService)
      const head = await log.write([remove('1')], asService)
      await send(log, 'a', [remove('1')])
      expect(await send(log, 'b', [restore('1', 'a')])).toEqual({ sid: head })
      // Also if the log has forgotten the older changes.
      await log.trim(head - 1)
      expect(await send(log, 'c', [restore('1', 'a')])).toEqual({ sid: head })
      await log.trim(head)
      expect(await send(log, 'd', [restore('1', 'a')])).toMatchObject(isUnknown)
      expect((await rowsOf(log)).map(({ id }) => id)).toEqual(['2'])
    })

    logTest('refuses a removal by somebody else, or by another transaction', async (log) => {
      await log.write([insert('1'), insert('2')], asService)
      await send(log, 'a', [remove('1'), remove('2')])
      expect(await send(log, 'b', [restore('1', 'a')], { caller: 'ben' })).toMatchObject(isUnknown)
      expect(await send(log, 'c', [restore('2', 'b')])).toMatchObject(isUnknown)
      expect(await rowsOf(log)).toEqual([])
    })

    logTest('refuses a removal that the log has forgotten', async (log) => {
      await log.write([insert('1'), insert('2')], asService)
      await send(log, 'a', [remove('1')])
      await log.trim(await log.write([remove('2')], asService))
      expect(await send(log, 'b', [restore('1', 'a')])).toMatchObject(isUnknown)
    })

    logTest('keeps nothing of a removed owner', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      await send(log, 'a', [remove('1')])
      expect(await log.forget('ann', 'ben')).toBe(true)
      expect(await send(log, 'b', [restore('1', 'a')])).toMatchObject(isUnknown)
    })

    logTest('refuses a record of somebody who is not an owner of the caller any more', async (log) => {
      await log.write([insert('1', {}, 'red')], asService)
      await send(log, 'a', [remove('1')], { owners: ['ann', 'red'] })
      expect(await send(log, 'b', [restore('1', 'a')])).toMatchObject({ error: { code: 'forbidden' } })
    })

    logTest('shows rules the removed record, and an op without fields', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      await send(log, 'a', [remove('1')])
      const seen: unknown[] = []
      const rules: Rules = async (read, ops) => {
        seen.push(...ops, (await read('Todo', '1'))?.p)
        return {
          judge: as('ann'),
          prepare: async (op, before) => {
            seen.push(before?.p)
            return op.op === 'd' ? op : { ...op, p: { n: 9, at: 7 } }
          },
        }
      }
      await send(log, 'b', [restore('1', 'a')], { rules })
      const { was: _, ...op } = { ...restore('1', 'a') }
      const p = { userId: 'ann', n: 1 }
      expect(seen).toEqual([op, p, p])
      expect((await rowsOf(log))[0]?.p).toEqual({ ...p, at: 7 })
    })
  })
}
