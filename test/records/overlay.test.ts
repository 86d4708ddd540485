import { describe, expect, test } from 'vitest'
import type { TxOp } from '../../src/protocol/tx.ts'
import { countedUpdates } from '../support/counted-ops.ts'
import { emptyReplica } from '../support/replica-fixtures.ts'

type Fields = { readonly [field: string]: number | string }

const update = (p: Fields): TxOp => ({ op: 'u', t: 'T', id: '1', p })

/** A replica of one record, which shows what it is at each moment that a query is told. */
function replicaOf(confirmed: Fields | undefined) {
  const { replica } = emptyReplica()
  const rowOf = (p: Fields | undefined) => p && { t: 'T', id: '1', p }
  const stage = (p: Fields | undefined) => {
    const staging = replica.stage()
    staging.add(p ? [{ t: 'T', id: '1', p }] : [])
    return staging
  }
  replica.swap(stage(confirmed))
  const seen: unknown[] = []
  const shown = () => {
    const record = replica.get('T', '1')
    return record && Object.fromEntries(Object.entries(record).filter(([field]) => field !== 'id'))
  }
  replica.query('T', {}).subscribe(() => seen.push(shown()))
  return {
    replica,
    seen,
    shown,
    lay: (tx: string, ...ops: TxOp[]) => replica.apply([], { add: [{ id: tx, ops }] }),
    lift: (...ids: string[]) => replica.apply([], { remove: ids }),
    confirm: (p: Fields | undefined, ...lifted: string[]) => {
      const change = { t: 'T', id: '1', before: replica.confirmed('T', '1'), after: rowOf(p) }
      replica.apply([change], { remove: lifted })
    },
    swap: (p: Fields | undefined, ...lifted: string[]) => replica.swap(stage(p), lifted),
    confirmed: () => replica.confirmed('T', '1')?.p,
  }
}

test('a thousand pending ops on one record are confirmed one by one without applying the others again', () => {
  const { replica, lay, confirm, shown } = replicaOf({ n: -1 })
  const { ops, reads } = countedUpdates(1_000, 'T')
  for (const [n, op] of ops.entries()) lay(`${n}`, op)
  for (const n of ops.keys()) confirm({ n, b: 1 }, `${n}`)
  expect(shown()).toEqual({ n: 999, b: 1 })
  expect(replica.confirmed('T', '1')?.p).toEqual({ n: 999, b: 1 })
  expect(reads()).toBeLessThan(20_000)
})

describe('a pending op', () => {
  test('notifies a query once, and only of changes', () => {
    const { lay, confirm, seen, replica } = replicaOf({ a: 1 })
    lay('x', update({ a: 2 }), update({ b: 3 }))
    const record = replica.get('T', '1')
    confirm({ a: 2, b: 3 }, 'x')
    expect(seen).toEqual([{ a: 2, b: 3 }])
    expect(replica.get('T', '1')).toBe(record)
  })

  test('notifies nobody of a record that a transaction leaves unchanged', () => {
    const { lay, seen } = replicaOf({ a: 1 })
    lay('x', update({ a: 2 }), update({ a: 1 }))
    expect(seen).toEqual([])
  })

  test('is applied to replaced data in the same step', () => {
    const { lay, swap, seen, shown, replica } = replicaOf({ a: 1, b: 1 })
    lay('x', update({ a: 2 }))
    lay('y', update({ a: 2, c: 3 }))
    swap({ a: 1, b: 9 }, 'x')
    expect(shown()).toEqual({ a: 2, b: 9, c: 3 })
    expect(seen.map((record) => (record as Fields).a)).not.toContain(1)
    swap(undefined)
    expect([shown(), replica.count('T')]).toEqual([undefined, 0])
  })
})
