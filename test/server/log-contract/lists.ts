import { describe, expect } from 'vitest'
import type { Log } from '../../../src/server/log/log.ts'
import { insert, remove, update } from '../harness.ts'
import { as, asService, framesOf, type LogTest, txOf } from './support.ts'

async function idsOf(log: Log, more: { owner?: string; after?: string; limit?: number } = {}) {
  return (await log.list({ t: 'Todo', after: '', limit: 100, ...more })).map(({ id }) => id)
}

export function describeLists(what: string, logTest: LogTest): void {
  describe(`${what}: lists`, () => {
    logTest('reads a record of any owner, or undefined', async (log) => {
      const sid = await log.write([insert('1', { n: 1 }, 'bob')], asService)
      expect(await log.read('Todo', '1')).toMatchObject({ owner: 'bob', sid, p: { userId: 'bob', n: 1 } })
      expect(await log.read('Todo', '2')).toBeUndefined()
      expect(await log.read('Note', '1')).toBeUndefined()
    })

    logTest('lists the records of a type by code points, in pages', async (log) => {
      // U+10000 comes after U+FF5E, though its first UTF-16 unit is lower.
      const ids = ['10', '9', 'B', 'a', '\uff5e', '\u{10000}']
      await log.write([...ids.toReversed().map((id) => insert(id)), { ...insert('x'), t: 'Note' }], asService)
      expect(await idsOf(log)).toEqual(ids)
      expect(await idsOf(log, { limit: 2 })).toEqual(['10', '9'])
      expect(await idsOf(log, { after: '9', limit: 3 })).toEqual(['B', 'a', '\uff5e'])
      expect(await idsOf(log, { after: '\u{10000}' })).toEqual([])
    })

    logTest('lists the records of one owner', async (log) => {
      await log.write([insert('1'), insert('2', {}, 'bob'), insert('3')], asService)
      expect(await idsOf(log, { owner: 'ann' })).toEqual(['1', '3'])
      expect(await idsOf(log, { owner: 'cid' })).toEqual([])
      const [first] = await log.list({ t: 'Todo', owner: 'bob', after: '', limit: 1 })
      expect(first).toMatchObject({ id: '2', owner: 'bob', p: { userId: 'bob' } })
    })

    logTest('lists the owners that have records', async (log) => {
      await log.write([insert('1', {}, 'bob'), insert('2'), insert('3'), insert('4', {}, 'cid')], asService)
      await log.write([remove('4')], asService)
      expect(await log.owners('', 10)).toEqual(['ann', 'bob'])
      expect(await log.owners('', 1)).toEqual(['ann'])
      expect(await log.owners('ann', 10)).toEqual(['bob'])
      expect(await log.owners('bob', 10)).toEqual([])
    })

    logTest('forgets nothing of an owner with records', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      expect(await log.forget('ann', 'ann')).toBe(false)
      expect(await framesOf(log)).toMatchObject([{ op: 'i', p: { n: 1 } }])
    })

    logTest('forgets the fields of earlier changes, but not the removals', async (log) => {
      await log.transact(txOf('a', [insert('1', { secret: 1 })]), as('ann'))
      await log.write([insert('2', { secret: 2 }), insert('3', { n: 3 }, 'bob')], asService)
      await log.write([update('1', { secret: 3 }), remove('1'), update('2', { userId: 'bob' })], asService)
      expect(await log.forget('ann')).toBe(true)
      const frames = await framesOf(log)
      expect(frames.map(({ op, id }) => `${op}${id}`)).toEqual(['d1', 'd1', 'd2'])
      const { changes } = await log.changes(0, 100)
      expect(changes).toHaveLength(7)
      expect(JSON.parse(changes[0]?.frame ?? '')).toEqual({
        sid: 1,
        t: 'Todo',
        id: '1',
        op: 'd',
        at: expect.any(Number),
        tx: 'a',
      })
      expect(JSON.stringify(changes.filter(({ owner }) => owner === 'ann'))).not.toContain('secret')
      expect(JSON.stringify(await framesOf(log, 0, 'bob'))).toContain('secret')
    })

    logTest('forgets the verdicts of one caller', async (log) => {
      const [anns, bobs] = [
        txOf('a', [remove('1')]),
        txOf('a', [remove('1')], { caller: 'bob', owner: 'bob' }),
      ]
      const verdicts = [await log.transact(anns, as('ann')), await log.transact(bobs, as('bob'))]
      await log.write([insert('2', {}, 'bob')], asService)
      expect(await log.forget('ann', 'ann')).toBe(true)
      expect(await log.transact(anns, as('ann'))).not.toEqual(verdicts[0])
      expect(await log.transact(bobs, as('bob'))).toEqual(verdicts[1])
    })
  })
}
