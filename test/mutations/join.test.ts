import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinRecords } from '../../src/mutations/join.ts'
import { applyOp, rowKey } from '../../src/protocol/fold.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { countedOps } from '../support/counted-ops.ts'

const id = fc.constantFrom('1', '2')
const p = fc.dictionary(fc.constantFrom('a', 'b'), fc.nat(3))
const anyOp: fc.Arbitrary<TxOp> = fc.oneof(
  fc.record({ op: fc.constant('i' as const), t: fc.constant('T'), id, p }),
  fc.record({ op: fc.constant('u' as const), t: fc.constant('T'), id, p }),
  fc.record({ op: fc.constant('d' as const), t: fc.constant('T'), id }),
)

const written = (ops: readonly TxOp[]) => ({ ops, before: [], bases: [], requires: [] })
const joinOps = (earlier: readonly TxOp[], later: readonly TxOp[]) =>
  joinRecords('tx', written(earlier), written(later)).ops

function rowsAfter(ops: readonly TxOp[]): { [key: string]: WireRow | undefined } {
  const rows: { [key: string]: WireRow | undefined } = {}
  for (const op of ops) rows[rowKey(op.t, op.id)] = applyOp(rows[rowKey(op.t, op.id)], op)
  return rows
}

test('joined ops have the effect of one list after the other', () => {
  fc.assert(
    fc.property(fc.array(anyOp), fc.array(anyOp), (earlier, later) => {
      expect(rowsAfter(joinOps(earlier, later))).toEqual(rowsAfter([...earlier, ...later]))
    }),
  )
})

test('joining costs in proportion to the number of records', () => {
  const [earlier, later] = [countedOps(1_000), countedOps(1_000)]
  expect(joinOps(earlier.ops, later.ops)).toHaveLength(1_000)
  expect(earlier.reads() + later.reads()).toBeLessThan(20_000)
})

test('a conditional op is not merged into the op before it', () => {
  const first: TxOp = { op: 'u', t: 'T', id: '1', p: { a: 1 } }
  const second: TxOp = { op: 'u', t: 'T', id: '1', p: { b: 2 }, unchangedSince: 5 }
  expect(joinOps([first], [second])).toEqual([first, second])
  expect(joinOps([second], [first])).toEqual([{ ...second, p: { b: 2, a: 1 } }])
})

test('a joined transaction keeps the images of its records from before its first write', () => {
  const image = (name: string, n: number | null) => ({ t: 'T', id: name, p: n === null ? null : { n } })
  const earlier = { ...written([]), before: [image('1', 1), image('2', null)] }
  const later = { ...written([]), before: [image('2', 5), image('3', 3)] }
  expect(joinRecords('tx', earlier, later).before).toEqual([image('1', 1), image('2', null), image('3', 3)])
})
