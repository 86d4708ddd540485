import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { framesOf } from '../../src/protocol/delta.ts'
import { fold, type RowOp, rowKey } from '../../src/protocol/fold.ts'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { frame, name } from '../support/arbitraries.ts'

/** Rows that a fold reads and its changes move. */
function copy(rows: readonly WireRow[] = []) {
  const map = new Map(rows.map((row) => [rowKey(row.t, row.id), row]))
  return {
    of: (t: string) => ({ get: (id: string) => map.get(rowKey(t, id)) }),
    apply(ops: readonly RowOp[]) {
      const { unknown, changes: made } = fold(this, ops)
      const changes = made()
      for (const { t, id, after } of changes) {
        if (after) map.set(rowKey(t, id), after)
        else map.delete(rowKey(t, id))
      }
      return { changes, unknown }
    },
    state: () => [...map.values()].sort((a, b) => (rowKey(a.t, a.id) < rowKey(b.t, b.id) ? -1 : 1)),
  }
}

const delta = (frames: readonly SyncFrame[]) => ({
  sid: frames.at(-1)?.sid ?? 0,
  kind: 'frame' as const,
  frames,
  broken: [],
})
const none = () => false
const base = { t: 'a', id: '1', p: { x: 1, y: 1 } }

describe('ops', () => {
  test('an update of an unknown record creates none, and is reported', () => {
    const rows = copy()
    const op: RowOp = { op: 'u', t: 'a', id: '1', p: { x: 1 } }
    expect(rows.apply([op])).toEqual({ changes: [], unknown: [op] })
  })

  test('an update of an unknown record is reported once, but not if a later op creates or removes the record', () => {
    const [change, other]: RowOp[] = ['1', '2'].map((id) => ({ op: 'u', t: 'a', id, p: { x: 1 } }))
    if (!change || !other) throw new Error('There are two.')
    expect(copy().apply([change, other, { op: 'd', t: 'a', id: '1' }])).toEqual({
      changes: [],
      unknown: [other],
    })
    expect(copy().apply([change, { op: 'i', t: 'a', id: '1', p: {} }]).unknown).toEqual([])
    const next: RowOp = { ...base, op: 'u', p: { x: 2 } }
    expect(copy([base]).apply([{ op: 'd', t: 'a', id: '1' }, change, next]).unknown).toEqual([change])
  })

  test('an op that changes no value is no change', () => {
    const rows = copy([base])
    expect(rows.apply([{ op: 'u', t: 'a', id: '1', p: { x: 1 } }]).changes).toEqual([])
    expect(rows.of('a').get('1')).toBe(base)
  })

  test('a record with another version but the same fields keeps its payload', () => {
    const rows = copy([base])
    rows.apply([{ op: 'i', t: 'a', id: '1', v: 2, p: { x: 1, y: 1 } }])
    expect(rows.of('a').get('1')).toEqual({ ...base, v: 2 })
    expect(rows.of('a').get('1')?.p).toBe(base.p)
  })

  test('several ops on one record are one change, from the state before the first to the state after the last', () => {
    const rows = copy([base])
    const { changes } = rows.apply([
      { op: 'd', t: 'a', id: '1' },
      { op: 'i', t: 'a', id: '1', p: { x: 2 } },
      { op: 'u', t: 'a', id: '1', p: { y: 3 } },
    ])
    expect(changes).toEqual([
      { t: 'a', id: '1', before: base, after: { t: 'a', id: '1', p: { x: 2, y: 3 } }, at: undefined },
    ])
  })
})

describe('the unknown records', () => {
  const ops = fc.array(frame(fc.constant(1)), { maxLength: 12 })

  test('are the same as if the ops were applied one at a time', () => {
    fc.assert(
      fc.property(ops, ops, (before, list) => {
        const rows = copy()
        rows.apply(before)
        const { unknown } = fold(rows, list)
        const found = new Map<string, RowOp>()
        for (const op of list) {
          const key = rowKey(op.t, op.id)
          if (op.op !== 'u') found.delete(key)
          else if (!rows.of(op.t).get(op.id) && !found.has(key)) found.set(key, op)
          rows.apply([op])
        }
        expect(new Set(unknown)).toEqual(new Set(found.values()))
      }),
    )
  })

  test('are known before the changes are computed, which start from the rows at the time of the call', () => {
    const rows = copy([base])
    const { changes } = fold(rows, [{ op: 'u', t: 'a', id: '1', p: { x: 2 } }])
    rows.apply([{ op: 'd', t: 'a', id: '1' }])
    expect(changes()).toEqual([{ t: 'a', id: '1', before: base, after: { ...base, p: { ...base.p, x: 2 } } }])
    expect(changes()).toBe(changes())
  })
})

describe('order', () => {
  const frames = fc
    .array(frame(fc.integer({ min: 1, max: 1_000 })), { maxLength: 20 })
    .map((list) => [...new Map(list.map((item) => [item.sid, item])).values()])

  test('invariant 5: applying any prefix of the frames again, or one of them twice, changes nothing', () => {
    fc.assert(
      fc.property(frames, fc.nat(), (list, cut) => {
        const once = copy()
        once.apply(framesOf(delta(list), none))
        const again = copy()
        const ordered = [...list].sort((a, b) => a.sid - b.sid)
        const prefix = delta(ordered.slice(0, cut % (list.length + 1)))
        again.apply(framesOf(prefix, none))
        again.apply(framesOf(delta([...list, ...list]), (sid) => sid <= prefix.sid))
        again.apply(framesOf(prefix, (sid) => sid <= delta(ordered).sid))
        expect(again.state()).toEqual(once.state())
      }),
    )
  })

  test('invariant 6: shuffled frames in one message give the same state', () => {
    fc.assert(
      fc.property(
        frames.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        ([list, shuffled]) => {
          const one = copy()
          const other = copy()
          one.apply(framesOf(delta([...list].sort((a, b) => a.sid - b.sid)), none))
          other.apply(framesOf(delta(shuffled), none))
          expect(other.state()).toEqual(one.state())
        },
      ),
    )
  })

  test('frames with one sid apply in the order in which they came', () => {
    const rows = copy()
    rows.apply(
      framesOf(
        delta([
          { sid: 2, op: 'u', t: 'a', id: '1', p: { x: 2 } },
          { sid: 1, op: 'i', t: 'a', id: '1', p: { x: 1 } },
          { sid: 2, op: 'u', t: 'a', id: '1', p: { x: 3 } },
        ]),
        none,
      ),
    )
    expect(rows.of('a').get('1')?.p).toEqual({ x: 3 })
  })
})

describe('names', () => {
  test('invariant 53: constructor, toString and the like as type, id or field leave no trace on a prototype', () => {
    fc.assert(
      fc.property(name, name, name, (t, id, field) => {
        const rows = copy()
        rows.apply([
          { op: 'i', t, id, p: JSON.parse(`{${JSON.stringify(field)}:1}`) },
          { op: 'u', t, id, p: JSON.parse(`{${JSON.stringify(field)}:2}`) },
        ])
        expect(Object.entries(rows.of(t).get(id)?.p ?? {})).toEqual([[field, 2]])
        expect(Object.keys(Object.prototype)).toEqual([])
      }),
    )
  })

  test('a nested field called __proto__ is compared like any other field', () => {
    const rows = copy([{ ...base, p: JSON.parse('{"x":{"__proto__":{}}}') }])
    rows.apply([{ op: 'u', t: 'a', id: '1', p: { x: { y: 1 } } }])
    expect(rows.of('a').get('1')?.p).toEqual({ x: { y: 1 } })
  })

  test('two records never share a key', () => {
    fc.assert(
      fc.property(fc.tuple(fc.string(), fc.string()), fc.tuple(fc.string(), fc.string()), (a, b) => {
        expect(rowKey(...a) === rowKey(...b)).toBe(a[0] === b[0] && a[1] === b[1])
      }),
    )
  })
})
