import { expect, test } from 'vitest'
import { Outbox } from '../../src/mutations/outbox.ts'
import { LocalTransaction, type TransactionHost } from '../../src/mutations/transaction.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { countedOps } from '../support/counted-ops.ts'

const host: TransactionHost = {
  records: () => [],
  undo: async () => undefined,
  changed() {},
  onListenerError() {},
}

function queued(id: string, ops: readonly TxOp[] = []): LocalTransaction {
  const record = {
    id,
    state: 'queued',
    at: 0,
    since: 0,
    ops,
    before: [],
    bases: [],
    requires: [],
    version: 1,
  } as const
  return new LocalTransaction(record, { name: 'queued' }, host)
}

test('an outbox knows what is here or on disk, and forgets the rest', () => {
  const outbox = new Outbox(
    () => {},
    () => {},
  )
  const [here, stored, gone] = ['1', '2', '3'].map((id) => queued(id))
  for (const one of [here, stored, gone]) if (one) outbox.insert([one])
  for (const one of [stored, gone]) if (one) outbox.remove(one)
  expect(['1', '2', '3'].map((id) => outbox.knows(id))).toEqual([true, true, true])
  outbox.forgetAllBut(new Set(['2']))
  expect(['1', '2', '3'].map((id) => outbox.knows(id))).toEqual([true, true, false])
})

test('what comes late, as from the disk, gets its place by when it was made, and so does what comes after it', () => {
  const outbox = new Outbox(
    () => {},
    () => {},
  )
  const come = (...ids: string[]) => outbox.insert(ids.map((id) => queued(id))).map(({ id }) => id)
  expect([come('5'), come('2'), come('3', '7')]).toEqual([['5'], ['2', '5'], ['3', '5', '7']])
  expect(outbox.list().map(({ id }) => id)).toEqual(['2', '3', '5', '7'])
})

test('what ops build on is found by their number, and not by its square', () => {
  const outbox = new Outbox(
    () => {},
    () => {},
  )
  const [pending, next] = [countedOps(1_000), countedOps(1_000)]
  const inserts = pending.ops.map(({ id }): TxOp => ({ op: 'i', t: 'Note', id, p: {} }))
  outbox.insert([queued('1', inserts)])
  outbox.insert([queued('2', pending.ops)])
  const before = pending.reads()
  expect(outbox.inserting(next.ops)).toEqual(['1'])
  expect(pending.reads() - before + next.reads()).toBeLessThan(20_000)
})
