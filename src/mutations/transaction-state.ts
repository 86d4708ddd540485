import { RejectedError, type SyncError } from '../base/errors.ts'
import { type Step, type TransitionTable, transitionOf } from '../base/machine.ts'

/**
 * The state of a transaction. Only a durable transaction is sent, unless the store fails. After a restart, a
 * transaction that was being sent is queued.
 */
export type TransactionState =
  /** The transaction is shown and is being stored. */
  | { readonly name: 'writing' }
  | { readonly name: 'queued' }
  | { readonly name: 'sending' }
  /**
   * The server has accepted the transaction; its last change has the position `sid`. The data does not contain it yet.
   */
  | { readonly name: 'accepted'; readonly sid: number; readonly epoch?: string | undefined }
  | { readonly name: 'synced'; readonly sid: number }
  /** The transaction could not be stored, or the user had signed out before. Its optimistic update was removed. */
  | { readonly name: 'failed'; readonly error: SyncError; readonly rejection: RejectedError }
  /** The transaction was undone or replaced before it was sent. */
  | { readonly name: 'cancelled' }
  /** The server rejected the transaction, or one that it requires. It waits in the outbox. */
  | { readonly name: 'rejected'; readonly error: RejectedError }
  /** The transaction was rejected, and then discarded or replaced by a retry. */
  | { readonly name: 'discarded'; readonly error: RejectedError }

export type TransactionEvent =
  | { readonly type: 'stored' }
  | { readonly type: 'lost'; readonly error: SyncError }
  /** The store did not accept the transaction, which is sent from memory. */
  | { readonly type: 'unstored'; readonly error: SyncError }
  | { readonly type: 'send' }
  /** No response came. The transaction is sent again under the same id. */
  | { readonly type: 'unsent' }
  /** `epoch`: the history of `sid`, if the server names it. */
  | { readonly type: 'accept'; readonly sid: number; readonly epoch?: string | undefined }
  | { readonly type: 'reject'; readonly error: RejectedError }
  /** The data contains the result of the transaction. */
  | { readonly type: 'sync' }
  /** The server has another history, which may not contain the transaction. */
  | { readonly type: 'requeue' }
  | { readonly type: 'cancel' }
  | { readonly type: 'discard' }
  /**
   * The transaction was cancelled or discarded, but its removal from the disk failed, or another client may have sent
   * it.
   */
  | { readonly type: 'restore' }

type Next = Step<TransactionState, never>

const to = (state: TransactionState): Next => ({ state, effects: [] })
const queue = () => to({ name: 'queued' })
const cancel = () => to({ name: 'cancelled' })
const accept = (_: unknown, { sid, epoch }: Extract<TransactionEvent, { type: 'accept' }>) =>
  to({ name: 'accepted', sid, epoch })
const fail = (_: unknown, { error }: Extract<TransactionEvent, { type: 'lost' }>) =>
  to({ name: 'failed', error, rejection: new RejectedError(error.code, error.message) })
const reject = (_: unknown, { error }: { readonly error: RejectedError }) => to({ name: 'rejected', error })

const table: TransitionTable<TransactionState, TransactionEvent, never> = {
  writing: {
    stored: queue,
    lost: fail,
    unstored: queue,
    reject,
    cancel,
  },
  queued: {
    send: () => to({ name: 'sending' }),
    // Another client of the same user has sent the transaction, or a response was lost.
    accept,
    reject,
    cancel,
    // The user has signed out.
    lost: fail,
  },
  sending: {
    unsent: queue,
    accept,
    reject,
    // Another client of the same data has cancelled the transaction.
    cancel,
  },
  accepted: {
    sync: ({ sid }) => to({ name: 'synced', sid }),
    requeue: queue,
  },
  rejected: { discard: ({ error }) => to({ name: 'discarded', error }) },
  synced: {},
  failed: {},
  cancelled: {
    // The transaction was cancelled while it was being stored: the disk has nothing to restore.
    lost: fail,
    restore: queue,
  },
  discarded: { restore: ({ error }) => to({ name: 'rejected', error }) },
}

export const nextTransactionState = transitionOf(table)
