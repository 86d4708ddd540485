import { describe, expect } from 'vitest'
import type { TxOp } from '../../../src/protocol/tx.ts'
import { insert, remove, update } from '../harness.ts'
import { asService, fail, framesOf, type LogTest, rowsOf } from './support.ts'

function since(op: TxOp, unchangedSince: number): TxOp {
  return { ...op, unchangedSince }
}

export function describeWrites(what: string, logTest: LogTest): void {
  describe(`${what}: writes`, () => {
    logTest('is empty at first, with the head 0', async (log) => {
      expect(await log.position()).toEqual({ history: expect.any(String), head: 0, horizon: 0 })
      expect(await rowsOf(log)).toEqual([])
      expect(await log.changes(0, 10)).toMatchObject({ sid: 0, head: 0, changes: [] })
    })

    logTest('gives each change a higher sid, and returns the last sid of a write', async (log) => {
      const sids = [await log.write([insert('1'), insert('2')], asService)]
      sids.push(await log.write([update('1', { n: 1 }), update('2', { n: 1 })], asService))
      const frames = await framesOf(log)
      expect(frames.map(({ op, id }) => op + id)).toEqual(['i1', 'i2', 'u1', 'u2'])
      expect([...new Set(frames.map(({ sid }) => sid))].sort((a, b) => a - b)).toEqual(
        frames.map(({ sid }) => sid),
      )
      expect(sids).toEqual([frames[1]?.sid, frames[3]?.sid])
      expect((await log.position()).head).toBe(sids[1])
    })

    logTest('returns the head if nothing changes, and makes no frame', async (log) => {
      const head = await log.write([insert('1')], asService)
      expect(await log.write([remove('absent')], asService)).toBe(head)
      expect(await framesOf(log, head)).toEqual([])
    })

    logTest('applies each op to the result of the earlier ones', async (log) => {
      const ops = [insert('1', { n: 1 }), update('1', { m: 2 }), remove('1'), insert('1', { n: 3 })]
      const sid = await log.write(ops, asService)
      expect(await rowsOf(log)).toEqual([{ t: 'Todo', id: '1', v: sid, p: { userId: 'ann', n: 3 } }])
    })

    logTest(
      'applies all of a write or nothing, and uses no sid for a write that it did not apply',
      async (log) => {
        const head = await log.write([insert('1')], asService)
        const broken = log.write([insert('2'), update('1', { n: 1 }), insert('1')], asService)
        await expect(broken).rejects.toMatchObject({ name: 'RejectedError', reason: 'exists' })
        await expect(log.write([insert('2')], fail)).rejects.toThrow('The judge broke.')
        expect(await log.position()).toMatchObject({ head })
        expect(await rowsOf(log)).toHaveLength(1)
        expect(await framesOf(log, head)).toEqual([])
      },
    )

    logTest('accepts many writes at once, each complete and none lost', async (log) => {
      const writes = Array.from({ length: 20 }, (_, n) =>
        log.write([insert(`a${n}`), insert(`b${n}`)], asService),
      )
      const sids = await Promise.all(writes)
      expect(new Set(sids).size).toBe(20)
      const ids = (await framesOf(log)).map(({ id }) => id)
      expect(ids).toHaveLength(40)
      for (const [index, id] of ids.entries()) {
        if (index % 2 === 0) expect(ids[index + 1]).toBe(id.replace('a', 'b'))
      }
    })

    logTest('keeps any names of JSON and JavaScript', async (log) => {
      const p = { userId: 'ann', constructor: 1, 'ключ "\\': ['✓', { deep: [null, true, -1.5e-7, ''] }] }
      await log.write([{ op: 'i', t: 'toString', id: "o'brien; --", p }], asService)
      expect(await rowsOf(log)).toMatchObject([{ t: 'toString', id: "o'brien; --", p }])
    })

    logTest('lets the service replace a record without naming its owner, who keeps it', async (log) => {
      await log.write([insert('1', { a: 1 }, 'bob')], asService)
      const put: TxOp = { op: 'i', t: 'Todo', id: '1', p: { b: 2 }, put: true }
      const sid = await log.write([put], asService)
      expect(await rowsOf(log, 'bob')).toEqual([{ t: 'Todo', id: '1', v: sid, p: { b: 2, userId: 'bob' } }])
    })

    logTest('refuses a new record without an owner', async (log) => {
      const absent: TxOp = { op: 'i', t: 'Todo', id: '1', p: { b: 2 }, put: true }
      await expect(log.write([absent], asService)).rejects.toMatchObject({ reason: 'invalid' })
    })

    logTest(
      'says for `unchangedSince` whether anyone has changed the record, this write aside',
      async (log) => {
        const first = await log.write([insert('1')], asService)
        const second = await log.write([insert('2')], asService)
        const twice = [since(update('1', { n: 1 }), first), since(update('1', { n: 2 }), first)]
        await log.write(twice, asService)
        const late = log.write([since(update('1', { n: 3 }), second)], asService)
        await expect(late).rejects.toMatchObject({ reason: 'conflict' })
      },
    )
  })
}
