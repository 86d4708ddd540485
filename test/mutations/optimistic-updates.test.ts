import { expect, test } from 'vitest'
import { RejectedError } from '../../src/base/errors.ts'
import { OptimisticUpdates } from '../../src/mutations/optimistic-updates.ts'
import { Outbox } from '../../src/mutations/outbox.ts'
import { LocalTransaction, stateOf, type TransactionHost } from '../../src/mutations/transaction.ts'
import { Replica } from '../../src/records/replica.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const host: TransactionHost = {
  records: () => [],
  undo: async () => undefined,
  changed() {},
  onListenerError() {},
}

/** Sets `title` of one record to its own id. */
function titled(id: string): LocalTransaction {
  const record = {
    id,
    state: 'queued',
    at: 0,
    since: 0,
    ops: [{ op: 'i', t: 'Issue', id: 'i1', p: { title: id }, put: true }],
    before: [],
    bases: [],
    requires: [],
    version: 1,
  } as const
  return new LocalTransaction(record, stateOf(record), host)
}

function setUp() {
  const outbox = new Outbox(
    () => {},
    () => {},
  )
  const replica = new Replica({ clock: new VirtualClock(), onListenerError: () => {} })
  const optimisticUpdates = new OptimisticUpdates({ outbox, replica })
  const seen = () => [outbox.list().map(({ id }) => id), replica.get('Issue', 'i1')?.title]
  return { optimisticUpdates, seen }
}

test('what comes back stands where it stood, under what was made after it', () => {
  const { optimisticUpdates, seen } = setUp()
  const [first, second] = [titled('1'), titled('2')]
  optimisticUpdates.exchange([], [first])
  optimisticUpdates.exchange([], [second])
  optimisticUpdates.exchange([first], [])
  expect(seen()).toEqual([['2'], '2'])
  optimisticUpdates.exchange([], [first])
  expect(seen()).toEqual([['1', '2'], '2'])
  optimisticUpdates.exchange([second], [])
  expect(seen()).toEqual([['1'], '1'])
})

test('what is rejected stays there and is not shown, also when one before it comes back', () => {
  const { optimisticUpdates, seen } = setUp()
  const [first, second] = [titled('1'), titled('2')]
  const error = new RejectedError('forbidden', 'No.')
  optimisticUpdates.exchange([], [second])
  expect(optimisticUpdates.reject([[second, error]])).toEqual([second])
  expect(optimisticUpdates.reject([[second, error]])).toEqual([])
  expect(seen()).toEqual([['2'], undefined])
  optimisticUpdates.exchange([], [first])
  expect(seen()).toEqual([['1', '2'], '1'])
})

test('what is found and cannot stand is there, and never shown', () => {
  const { optimisticUpdates, seen } = setUp()
  const [first, second] = [titled('1'), titled('2')]
  optimisticUpdates.found([first, second], new Map([[second, 'a fault']]))
  expect(seen()).toEqual([['1', '2'], '1'])
})
