import { expect, test } from 'vitest'
import { LocalTransaction, type TransactionHost } from '../../src/mutations/transaction.ts'
import { UndoStack } from '../../src/mutations/undo-stack.ts'

const host: TransactionHost = {
  records: () => [],
  undo: async () => undefined,
  changed() {},
  onListenerError() {},
}

/** A transaction of the group `typing`, that counts how often it is looked at. */
function typed(id: string) {
  let looks = 0
  const record = {
    id,
    state: 'queued',
    at: 0,
    since: 0,
    ops: [{ op: 'd', t: 'Note', id: '1' }],
    before: [],
    bases: [],
    requires: [],
    version: 1,
    group: 'typing',
    coalesce: 'title',
  } as const
  class Counted extends LocalTransaction {
    override get state() {
      looks += 1
      return super.state
    }
  }
  return { transaction: new Counted(record, { name: 'queued' }, host), looks: () => looks }
}

test('what was joined with another of its group is kept no longer', () => {
  const history = new UndoStack({ rehearse() {}, again: (one) => one, changed() {} })
  const [first, second, third] = [typed('1'), typed('2'), typed('3')]
  history.note(first.transaction)
  for (const { transaction } of [second, third]) {
    first.transaction.dispatch({ type: 'cancel' })
    history.note(transaction)
  }
  const before = first.looks()
  expect([history.canUndo, history.canUndo, first.looks() - before]).toEqual([true, true, 0])
})
