import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Payload } from '../../src/protocol/json.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { emptyReplica } from '../support/replica-fixtures.ts'

const ids = ['1', '2'] as const
const id = fc.constantFrom(...ids)
const p = fc.dictionary(fc.constantFrom('a', 'b'), fc.nat(2))
const op: fc.Arbitrary<TxOp> = fc.oneof(
  fc.record({ op: fc.constant('i' as const), t: fc.constant('T'), id, p, put: fc.boolean() }),
  fc.record({ op: fc.constant('u' as const), t: fc.constant('T'), id, p }),
  fc.record({ op: fc.constant('d' as const), t: fc.constant('T'), id }),
)
const rows = fc.dictionary(id, p)
const step = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), ops: fc.array(op, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant('confirm' as const), rows, lift: fc.nat(3) }),
  fc.record({ kind: fc.constant('swap' as const), rows, lift: fc.nat(3) }),
)

/** What is there meanwhile stands before what was to be added. */
function laidOver(p: Payload | undefined, op: TxOp): Payload | undefined {
  if (op.op === 'd') return undefined
  if (op.op === 'u') return p && { ...p, ...op.p }
  return op.put ? op.p : (p ?? op.p)
}

test('the shown records are always the confirmed ones with the pending ops applied', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const { replica } = emptyReplica()
      const query = replica.query('T', { orderBy: ['id'] })
      let told = query.rows
      query.subscribe(() => {
        told = query.rows
      })
      let confirmed = new Map<string, WireRow>()
      let pending: { readonly id: string; readonly ops: readonly TxOp[] }[] = []
      const check = () => {
        for (const one of ids) {
          const ops = pending.flatMap((tx) => tx.ops).filter((laid) => laid.id === one)
          expect(replica.shown.of('T').get(one)?.p).toEqual(ops.reduce(laidOver, confirmed.get(one)?.p))
          expect(replica.confirmed('T', one)?.p).toEqual(confirmed.get(one)?.p)
        }
        expect(told).toEqual(replica.query('T', { orderBy: ['id'] }).rows)
        expect([...replica.confirmedAll('T')].map((row) => row.id).sort()).toEqual(
          [...confirmed.keys()].sort(),
        )
      }
      steps.forEach((one, n) => {
        if (one.kind === 'add') {
          pending.push({ id: `${n}`, ops: one.ops })
          replica.apply([], { add: pending.slice(-1) })
        } else {
          const lift = pending.slice(0, one.lift).map((tx) => tx.id)
          pending = pending.slice(one.lift)
          const next = new Map(
            Object.entries(one.rows).map(([key, fields]) => [key, { t: 'T', id: key, p: fields }]),
          )
          const changes = ids.map((key) => ({
            t: 'T',
            id: key,
            before: confirmed.get(key),
            after: next.get(key),
          }))
          confirmed = next
          if (one.kind === 'confirm') replica.apply(changes, { remove: lift })
          else {
            const staging = replica.stage()
            staging.add([...next.values()])
            replica.swap(staging, lift)
          }
        }
        check()
      })
    }),
    { numRuns: 1_000 },
  )
})
