import { expect, test } from 'vitest'
import { Outbox } from '../../src/mutations/outbox.ts'
import { LocalTransaction, type TransactionHost } from '../../src/mutations/transaction.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { countedOps, countedUpdates } from '../support/counted-ops.ts'

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

test('what an update requires is found without looking at all updates of its record', () => {
  const outbox = new Outbox(
    () => {},
    () => {},
  )
  const insert = queued('0', [{ op: 'i', t: 'Note', id: '1', p: {} }])
  const { ops, reads } = countedUpdates(1_000)
  outbox.insert([insert, ...ops.map((op, n) => queued(`${n + 1}`, [op]))])
  const before = reads()
  for (const op of ops) expect(outbox.inserting([op])).toEqual(['0'])
  expect(reads() - before).toBeLessThan(10_000)
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
