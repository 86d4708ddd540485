import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinImages, joinOps } from '../../src/mutations/join.ts'
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

function rowsAfter(ops: readonly TxOp[]): { [key: string]: WireRow | undefined } {
  const rows: { [key: string]: WireRow | undefined } = {}
  for (const op of ops) rows[rowKey(op.t, op.id)] = applyOp(rows[rowKey(op.t, op.id)], op)
  return rows
}

test('what is joined does what one list does after the other', () => {
  fc.assert(
    fc.property(fc.array(anyOp), fc.array(anyOp), (earlier, later) => {
      expect(rowsAfter(joinOps(earlier, later))).toEqual(rowsAfter([...earlier, ...later]))
    }),
  )
})

test('typing on and on stays one op', () => {
  const typed = (title: string): TxOp[] => [{ op: 'u', t: 'T', id: '1', p: { title } }]
  expect(joinOps(joinOps(typed('a'), typed('ab')), typed('abc'))).toEqual(typed('abc'))
})

test('what many records are joined with costs by their number, and not by its square', () => {
  const [earlier, later] = [countedOps(1_000), countedOps(1_000)]
  expect(joinOps(earlier.ops, later.ops)).toHaveLength(1_000)
  expect(earlier.reads() + later.reads()).toBeLessThan(20_000)
})

test('an op with a condition stays by itself', () => {
  const first: TxOp = { op: 'u', t: 'T', id: '1', p: { a: 1 } }
  const second: TxOp = { op: 'u', t: 'T', id: '1', p: { b: 2 }, unchangedSince: 5 }
  expect(joinOps([first], [second])).toEqual([first, second])
  expect(joinOps([second], [first])).toEqual([{ ...second, p: { b: 2, a: 1 } }])
})

test('the images are those from before the first', () => {
  const image = (name: string, n: number | null) => ({ t: 'T', id: name, p: n === null ? null : { n } })
  expect(joinImages([image('1', 1), image('2', null)], [image('2', 5), image('3', 3)])).toEqual([
    image('1', 1),
    image('2', null),
    image('3', 3),
  ])
})
