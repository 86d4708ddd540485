import { expect, test } from 'vitest'
import { Outbox } from '../../src/outbox/outbox.ts'
import { LocalTransaction, type TransactionHost } from '../../src/outbox/transaction.ts'

const host: TransactionHost = {
  records: () => [],
  undo: async () => undefined,
  changed() {},
  onListenerError() {},
}

function queued(id: string): LocalTransaction {
  const record = {
    id,
    state: 'queued',
    at: 0,
    since: 0,
    ops: [],
    before: [],
    bases: [],
    requires: [],
    version: 1,
  } as const
  return new LocalTransaction(record, { name: 'queued' }, host)
}

test('an outbox knows what is here or on disk, and forgets the rest', () => {
  const outbox = new Outbox(() => {})
  const [here, stored, gone] = ['1', '2', '3'].map(queued)
  for (const one of [here, stored, gone]) if (one) outbox.add(one)
  for (const one of [stored, gone]) if (one) outbox.remove(one)
  expect(['1', '2', '3'].map((id) => outbox.knows(id))).toEqual([true, true, true])
  outbox.forgetAllBut(new Set(['2']))
  expect(['1', '2', '3'].map((id) => outbox.knows(id))).toEqual([true, true, false])
})
