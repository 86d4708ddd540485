import { describe, expect, test } from 'vitest'
import { RejectedError, StorageError } from '../../src/base/errors.ts'
import {
  nextTransactionState,
  type TransactionEvent,
  type TransactionState,
} from '../../src/mutations/transaction-state.ts'

const storage = new StorageError('quota', 'Full.')
const refusal = new RejectedError('conflict', 'No.')

const states: { readonly [Name in TransactionState['name']]: TransactionState } = {
  writing: { name: 'writing' },
  queued: { name: 'queued' },
  sending: { name: 'sending' },
  accepted: { name: 'accepted', sid: 7 },
  synced: { name: 'synced', sid: 7 },
  failed: { name: 'failed', error: storage },
  cancelled: { name: 'cancelled' },
  rejected: { name: 'rejected', error: refusal },
  discarded: { name: 'discarded', error: refusal },
}

const events: { readonly [Type in TransactionEvent['type']]: TransactionEvent } = {
  stored: { type: 'stored' },
  lost: { type: 'lost', error: storage },
  unstored: { type: 'unstored', error: storage },
  send: { type: 'send' },
  unsent: { type: 'unsent' },
  accept: { type: 'accept', sid: 7 },
  reject: { type: 'reject', error: refusal },
  sync: { type: 'sync' },
  requeue: { type: 'requeue' },
  cancel: { type: 'cancel' },
  discard: { type: 'discard' },
  restore: { type: 'restore' },
}

/** What leads from where to where; everything else leads nowhere. */
const ways: { readonly [From in TransactionState['name']]: { readonly [type: string]: string } } = {
  writing: { stored: 'queued', unstored: 'queued', lost: 'failed', reject: 'rejected', cancel: 'cancelled' },
  queued: { send: 'sending', accept: 'accepted', reject: 'rejected', cancel: 'cancelled' },
  sending: { unsent: 'queued', accept: 'accepted', reject: 'rejected', cancel: 'cancelled' },
  accepted: { sync: 'synced', requeue: 'queued' },
  rejected: { discard: 'discarded' },
  synced: {},
  failed: {},
  cancelled: { lost: 'failed', restore: 'queued' },
  discarded: { restore: 'rejected' },
}

describe.each(Object.values(states))('a transaction that is $name', (state) => {
  test.each(Object.values(events))('is told $type', (event) => {
    const next = nextTransactionState(state, event)
    const to = ways[state.name][event.type]
    expect(next.effects).toEqual([])
    if (to === undefined) expect(next.state).toBe(state)
    else expect(next.state).toEqual(states[to as TransactionState['name']])
  })
})
