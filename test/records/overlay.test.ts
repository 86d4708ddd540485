import { describe, expect, test } from 'vitest'
import type { TxOp } from '../../src/protocol/tx.ts'
import { emptyReplica } from '../support/replica-fixtures.ts'

type Fields = { readonly [field: string]: number | string }

const insert = (p: Fields): TxOp => ({ op: 'i', t: 'T', id: '1', p })
const put = (p: Fields): TxOp => ({ op: 'i', t: 'T', id: '1', p, put: true })
const update = (p: Fields): TxOp => ({ op: 'u', t: 'T', id: '1', p })
const remove: TxOp = { op: 'd', t: 'T', id: '1' }

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
    lay: (tx: string, ...ops: TxOp[]) => replica.apply([], { lay: [{ id: tx, ops }] }),
    lift: (...ids: string[]) => replica.apply([], { lift: ids }),
    confirm: (p: Fields | undefined, ...lifted: string[]) => {
      const change = { t: 'T', id: '1', before: replica.confirmed('T', '1'), after: rowOf(p) }
      replica.apply([change], { lift: lifted })
    },
    swap: (p: Fields | undefined, ...lifted: string[]) => replica.swap(stage(p), lifted),
    confirmed: () => replica.confirmed('T', '1')?.p,
  }
}

describe('a pending op', () => {
  test('shows each field that is pending, and the others as they are confirmed', () => {
    const { lay, lift, confirm, shown, confirmed } = replicaOf({ a: 1, b: 1 })
    lay('x', update({ a: 2 }))
    confirm({ a: 1, b: 5, c: 5 })
    expect(shown()).toEqual({ a: 2, b: 5, c: 5 })
    expect(confirmed()).toEqual({ a: 1, b: 5, c: 5 })
    lift('x')
    expect(shown()).toEqual({ a: 1, b: 5, c: 5 })
  })

  test('goes in the order of the transactions, and without those that are lifted', () => {
    const { lay, lift, shown } = replicaOf({ a: 1 })
    lay('x', update({ a: 2, b: 2 }))
    lay('y', update({ a: 3 }))
    lay('z', update({ b: 4 }))
    expect(shown()).toEqual({ a: 3, b: 4 })
    lift('y')
    expect(shown()).toEqual({ a: 2, b: 4 })
    lift('x', 'z')
    expect(shown()).toEqual({ a: 1 })
  })

  test('an insert of what has been confirmed shows the confirmed one; a put stands in its place', () => {
    const { lay, lift, confirm, shown } = replicaOf(undefined)
    lay('x', insert({ a: 1 }))
    expect(shown()).toEqual({ a: 1 })
    confirm({ b: 2 })
    expect(shown()).toEqual({ b: 2 })
    lay('y', put({ c: 3 }))
    expect(shown()).toEqual({ c: 3 })
    lift('x', 'y')
    expect(shown()).toEqual({ b: 2 })
  })

  test('an update of what is not there shows nothing, and a removal hides', () => {
    const { lay, lift, confirm, shown } = replicaOf({ a: 1 })
    lay('x', update({ a: 2 }))
    confirm(undefined)
    expect(shown()).toBeUndefined()
    confirm({ a: 1, b: 1 })
    expect(shown()).toEqual({ a: 2, b: 1 })
    lay('y', remove)
    expect(shown()).toBeUndefined()
    lift('y')
    expect(shown()).toEqual({ a: 2, b: 1 })
  })

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

  test('counts as a record, and not as a confirmed one', () => {
    const { lay, replica } = replicaOf(undefined)
    lay('x', insert({ a: 1 }))
    expect([replica.count('T'), replica.all('T').length]).toEqual([1, 1])
    expect([...replica.confirmedAll('T')]).toEqual([])
  })
})
