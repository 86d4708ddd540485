import type { RejectedError, SyncError } from '../base/errors.ts'
import { type Step, type TransitionTable, transitionOf } from '../base/machine.ts'

/** Where a transaction stands. Only what is durable is sent; after a restart, what was being sent is queued. */
export type TransactionState =
  /** It is shown, and being stored. */
  | { readonly name: 'writing' }
  | { readonly name: 'queued' }
  | { readonly name: 'sending' }
  /** The server has it, as the changes up to `sid`; the data does not show them yet. */
  | { readonly name: 'accepted'; readonly sid: number; readonly epoch?: string | undefined }
  | { readonly name: 'synced'; readonly sid: number }
  /** It could not be stored, and is taken back. */
  | { readonly name: 'failed'; readonly error: SyncError }
  /** It was undone, or replaced, before it was sent. */
  | { readonly name: 'cancelled' }
  /** The server refused it, or one that it requires; it waits in the outbox. */
  | { readonly name: 'rejected'; readonly error: RejectedError }
  /** It was rejected, and then given up, or tried anew as another. */
  | { readonly name: 'discarded'; readonly error: RejectedError }

export type TransactionEvent =
  | { readonly type: 'stored' }
  | { readonly type: 'lost'; readonly error: SyncError }
  /** The store did not take it, and it is sent from memory. */
  | { readonly type: 'unstored'; readonly error: SyncError }
  | { readonly type: 'send' }
  /** No answer came: it is sent again under its id. */
  | { readonly type: 'unsent' }
  /** `epoch`: the history in which `sid` counts, where that is known. */
  | { readonly type: 'accept'; readonly sid: number; readonly epoch?: string | undefined }
  | { readonly type: 'reject'; readonly error: RejectedError }
  /** The data shows what came of it. */
  | { readonly type: 'sync' }
  /** The server's history is another one, which may not hold it. */
  | { readonly type: 'requeue' }
  | { readonly type: 'cancel' }
  | { readonly type: 'discard' }
  /** The disk did not let it go, after it was cancelled or discarded: it stands as before. */
  | { readonly type: 'restore' }

type Next = Step<TransactionState, never>

const to = (state: TransactionState): Next => ({ state, effects: [] })
const queued: TransactionState = { name: 'queued' }
const accept = (_: unknown, { sid, epoch }: Extract<TransactionEvent, { type: 'accept' }>) =>
  to({ name: 'accepted', sid, epoch })
const reject = (_: unknown, { error }: { readonly error: RejectedError }) => to({ name: 'rejected', error })

const table: TransitionTable<TransactionState, TransactionEvent, never> = {
  writing: {
    stored: () => to(queued),
    lost: (_, { error }) => to({ name: 'failed', error }),
    unstored: () => to(queued),
    reject,
    cancel: () => to({ name: 'cancelled' }),
  },
  queued: {
    send: () => to({ name: 'sending' }),
    // Another client of the same user sent it, or an answer was lost.
    accept,
    reject,
    cancel: () => to({ name: 'cancelled' }),
  },
  sending: {
    unsent: () => to(queued),
    accept,
    reject,
    // Another client of the same data had taken it back.
    cancel: () => to({ name: 'cancelled' }),
  },
  accepted: {
    sync: ({ sid }) => to({ name: 'synced', sid }),
    requeue: () => to(queued),
  },
  rejected: { discard: ({ error }) => to({ name: 'discarded', error }) },
  synced: {},
  failed: {},
  cancelled: {
    // It was being stored when it was cancelled: there is nothing to restore.
    lost: (_, { error }) => to({ name: 'failed', error }),
    restore: () => to(queued),
  },
  discarded: { restore: ({ error }) => to({ name: 'rejected', error }) },
}

export const nextTransactionState = transitionOf(table)
