import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DeltaFrame, type DeltaMessage, framesOf, partsOf } from '../../src/protocol/delta.ts'

/** Frames of transactions of 1 to 900 ops, with ascending `sid`, and their delta. */
const deltas = fc
  .array(
    fc.record({ count: fc.integer({ min: 1, max: 900 }), hasTx: fc.boolean(), isOneSid: fc.boolean() }),
    {
      maxLength: 12,
    },
  )
  .map((transactions): DeltaMessage => {
    const frames: DeltaFrame[] = []
    let sid = 10
    for (const [n, { count, hasTx, isOneSid }] of transactions.entries()) {
      for (let op = 0; op < count; op += 1) {
        if (op === 0 || !isOneSid) sid += 1
        frames.push({ op: 'd', t: 'Item', id: `${frames.length}`, sid, ...(hasTx && { tx: `t${n}` }) })
      }
    }
    return { kind: 'frame', sid: sid + 1, frames, broken: ['one'] }
  })

test('the parts of a large delta continue each other, and leave out nothing', () => {
  fc.assert(
    fc.property(deltas, (delta) => {
      const parts = [...partsOf(delta, 10)]
      expect(parts.flatMap(({ frames }) => frames)).toEqual(framesOf(delta, () => false))
      expect(parts.flatMap(({ broken }) => broken)).toEqual(delta.broken)
      expect(parts.map(({ since }) => since)).toEqual([10, ...parts.slice(0, -1).map(({ sid }) => sid)])
      expect(parts.at(-1)?.sid).toBe(delta.sid)
      for (const { since, sid, frames } of parts)
        expect(frames.every((frame) => frame.sid > since && frame.sid <= sid)).toBe(true)
    }),
  )
})

test('the frames of one transaction are never in two parts of a delta', () => {
  fc.assert(
    fc.property(deltas, (delta) => {
      const all = [...partsOf(delta, 10)].flatMap(({ frames }) => [...new Set(frames.map(({ tx }) => tx))])
      const named = all.filter((tx) => tx !== undefined)
      expect(named).toEqual([...new Set(named)])
    }),
  )
})
