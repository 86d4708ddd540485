import { Deferred } from '../base/deferred.ts'
import { Emitter, type Listener, type Unsubscribe } from '../base/emitter.ts'
import { ClosedError, RejectedError, type SyncError } from '../base/errors.ts'
import type { OutboxRecord } from '../persistence/outbox.ts'
import type { Payload } from '../protocol/json.ts'
import type { Effect } from './inverse.ts'
import { nextTransactionState, type TransactionEvent, type TransactionState } from './transaction-state.ts'

/**
 * A change that the user made, shown at once. The server applies all of it or nothing. A rejected promise that nobody
 * awaits is never an unhandled rejection.
 */
export interface Transaction {
  /** A UUIDv7, which stays the same over restarts. The transaction is sent under this id. */
  readonly id: string
  readonly label: string | undefined
  /** The time when the transaction was made, in ms since the epoch. */
  readonly at: number
  readonly state: TransactionState['name']
  /**
   * Why the transaction was rejected, or why it `failed`, with the code of the StorageError as `reason`. `undefined`
   * unless the state is `rejected`, `discarded` or `failed`.
   */
  readonly rejection: RejectedError | undefined
  /** The id of the rejected transaction that this one replaces. */
  readonly retryOf: string | undefined
  /** The id of the transaction that this one undoes; a redo undoes an undo. */
  readonly undoOf: string | undefined
  /** The records that the transaction changes: before the change, after it, and as the server last sent them. */
  readonly records: readonly TouchedRecord[]
  /**
   * Resolves once the transaction is flushed to the disk, or accepted by the server if the disk fails; at once if
   * `status.storage` says `memory`. Rejects with the StorageError of the disk if the client is closed before, or if a
   * retry cannot be stored; with a RejectedError if the transaction is undone or rejected before.
   */
  readonly durable: Promise<void>
  /**
   * Resolves with the `sid` of the last change of the transaction, once the server has accepted it. Rejects with a
   * RejectedError, with the error of `durable`, or with a ClosedError if the client is closed before.
   */
  readonly accepted: Promise<number>
  /**
   * Resolves with the same `sid` once the data from the server contains the transaction. Rejects as `accepted` does.
   */
  readonly synced: Promise<number>
  /**
   * Resolves with the last state of the transaction, or with the state at the time when the client is closed. Never
   * rejects. A rejected transaction has settled.
   */
  readonly settled: Promise<TransactionState['name']>
  /** Calls `listener` when `state` has changed. Changes that happen together are reported once. */
  subscribe(listener: Listener<Transaction>): Unsubscribe
  /**
   * Undoes the transaction. If it is unsent, cancels it. If it was sent, makes another transaction, which restores each
   * field that still has the written value. Resolves with that other transaction, with `undefined` if the transaction is
   * cancelled, or with `false` if nothing can be taken back. Rejects with the errors of `mutate`, and with a StorageError
   * if the disk fails: the transaction then stays as it was.
   */
  undo(): Promise<Transaction | undefined | false>
}

export interface TouchedRecord {
  readonly type: string
  readonly id: string
  /** The fields before the transaction; `undefined` if there was no such record. */
  readonly base: Payload | undefined
  /** The fields after the transaction; `undefined` if it deletes the record. */
  readonly mine: Payload | undefined
  /** The fields as the server last sent them; `undefined` if it has no such record. */
  readonly theirs: Payload | undefined
}

/** The functions that a transaction calls. Its maker implements them. */
export interface TransactionHost {
  records(record: OutboxRecord): readonly TouchedRecord[]
  undo(transaction: LocalTransaction): Promise<LocalTransaction | undefined | false>
  /**
   * Called when the state of a transaction has changed. The host calls `LocalTransaction.notify` with the next commit.
   */
  changed(transaction: LocalTransaction): void
  readonly onListenerError: (error: unknown) => void
}

/** The values of the promises of a transaction, by the promises' names. */
type Promised = {
  readonly [Name in 'durable' | 'accepted' | 'synced' | 'settled']: Awaited<Transaction[Name]>
}

type Promises = { readonly [Name in keyof Promised]?: Deferred<Promised[Name]> }

export class LocalTransaction implements Transaction {
  /** The transaction that this one undoes. `record.undoes` finds it again after a restart, while it is pending. */
  undoes: LocalTransaction | undefined
  /** The transaction that this one, rejected or cancelled, was written again as. */
  rewrittenAs: LocalTransaction | undefined
  /** Whether the server no longer has the record that this undo brings back, so that all its fields are sent. */
  isForgotten = false
  readonly #host: TransactionHost
  /** Made on demand, as the promises are: there may be many thousands of transactions. */
  #emitter: Emitter<{ change: Transaction }> | undefined
  #promises: Promises = {}
  #record: OutboxRecord
  #state: TransactionState
  #isDurable: boolean
  /** The error of the store if it did not accept the transaction. */
  #storeError: SyncError | undefined
  #effects: readonly Effect[] | undefined
  /** The error of promises that have not settled; set when the client is closed. */
  #closed: ClosedError | undefined

  /** `state`: `writing` for a new transaction, {@link stateOf} `record` for a restored one. */
  constructor(record: OutboxRecord, state: TransactionState, host: TransactionHost) {
    this.#host = host
    this.#record = record
    this.#state = state
    this.#isDurable = state.name !== 'writing'
  }

  get id(): string {
    return this.#record.id
  }

  get label(): string | undefined {
    return this.#record.label
  }

  get at(): number {
    return this.#record.at
  }

  get retryOf(): string | undefined {
    return this.#record.retryOf
  }

  get undoOf(): string | undefined {
    return this.#record.undoes
  }

  get state(): TransactionState['name'] {
    return this.#state.name
  }

  get rejection(): RejectedError | undefined {
    const state = this.#state
    if (state.name === 'failed') return state.rejection
    return state.name === 'rejected' || state.name === 'discarded' ? state.error : undefined
  }

  get records(): readonly TouchedRecord[] {
    return this.#host.records(this.#record)
  }

  get durable(): Promise<void> {
    return this.#promiseOf('durable')
  }

  get accepted(): Promise<number> {
    return this.#promiseOf('accepted')
  }

  get synced(): Promise<number> {
    return this.#promiseOf('synced')
  }

  get settled(): Promise<TransactionState['name']> {
    return this.#promiseOf('settled')
  }

  subscribe(listener: Listener<Transaction>): Unsubscribe {
    this.#emitter ??= new Emitter(this.#host.onListenerError)
    return this.#emitter.on('change', listener)
  }

  undo(): Promise<LocalTransaction | undefined | false> {
    return this.#host.undo(this)
  }

  /** The transaction as it is stored on the disk. */
  get record(): OutboxRecord {
    return this.#record
  }

  /** Whether the disk has the transaction. */
  get isStored(): boolean {
    return this.#isDurable
  }

  /** The effect on each record, saved when the data came to contain the transaction or when it was taken back. */
  get effects(): readonly Effect[] | undefined {
    return this.#effects
  }

  /** Saves the effects. Only the first call counts. */
  note(effects: readonly Effect[]): void {
    this.#effects ??= effects
  }

  /** Whether the server may have the transaction, with or without a response. */
  get wasSent(): boolean {
    return this.#record.state !== 'queued'
  }

  /** Changes the record. */
  amend(
    change: Partial<
      Pick<
        OutboxRecord,
        'key' | 'ops' | 'before' | 'sent' | 'bases' | 'requires' | 'since' | 'epoch' | 'hasTx'
      >
    >,
  ): void {
    this.#record = { ...this.#record, ...change }
  }

  /** Applies `event`. Returns whether the state has changed. */
  dispatch(event: TransactionEvent): boolean {
    // A transaction that was rejected before it was stored never becomes durable.
    if (event.type === 'stored' && isPending(this.#state)) this.#isDurable = true
    const { state } = nextTransactionState(this.#state, event)
    if (state === this.#state) {
      this.#settle()
      return false
    }
    if (event.type === 'unstored') this.#storeError = event.error
    if (event.type === 'restore' || event.type === 'requeue') this.#effects = undefined
    // Later callers get new promises, since the old ones may have settled.
    if (event.type === 'restore') this.#promises = {}
    this.#state = state
    this.#record = recordOf(this.#record, state)
    this.#host.changed(this)
    this.#settle()
    return true
  }

  /** Calls the subscribers. */
  notify(): void {
    this.#emitter?.emit('change', this)
  }

  /** Settles all promises, because the client is closed: with `error`, unless the state decides. */
  close(error = new ClosedError('The client was closed before this transaction settled.')): void {
    this.#closed = error
    this.#settle()
    this.#emitter?.clear()
  }

  #promiseOf<Name extends keyof Promised>(name: Name): Promise<Promised[Name]> {
    const deferred = this.#promises[name] ?? new Deferred<Promised[Name]>()
    Object.assign(this.#promises, { [name]: deferred })
    this.#settle()
    return deferred.promise
  }

  /** Settles the promises that the state decides. Settled promises stay as they are. */
  #settle(): void {
    const state = this.#state
    const { durable, accepted, synced, settled } = this.#promises
    if (this.#isDurable || 'sid' in state) durable?.resolve()
    if ('sid' in state) accepted?.resolve(state.sid)
    if (state.name === 'synced') synced?.resolve(state.sid)
    if (isPending(state) && !this.#closed) return
    settled?.resolve(state.name)
    const awaited = [durable, accepted, synced].flatMap((deferred) => deferred ?? [])
    if (state.name === 'synced' || awaited.length === 0) return
    const error = (isPending(state) && !this.#isDurable && this.#storeError) || errorOf(state) || this.#closed
    for (const deferred of awaited) deferred.reject(error)
  }
}

/** Whether it has not settled yet. */
function isPending({ name }: TransactionState): boolean {
  return name === 'writing' || name === 'queued' || name === 'sending' || name === 'accepted'
}

function errorOf(state: TransactionState): unknown {
  if ('error' in state) return state.error
  if (isPending(state)) return undefined
  return new RejectedError(state.name, `This transaction was ${state.name}.`)
}

function recordOf(record: OutboxRecord, state: TransactionState): OutboxRecord {
  const { sid: _, error: __, acceptedEpoch: ___, ...rest } = record
  switch (state.name) {
    case 'accepted':
      return { ...rest, state: 'accepted', sid: state.sid, acceptedEpoch: state.epoch }
    case 'rejected': {
      const { reason: code, message, details } = state.error
      return { ...rest, state: 'rejected', error: { code, message, details } }
    }
    default:
      // Once the transaction was sent, the server may have it.
      return { ...rest, state: record.state === 'queued' && state.name !== 'sending' ? 'queued' : 'sending' }
  }
}

/** The state of a transaction that was stored as `record`. */
export function stateOf(record: OutboxRecord): TransactionState {
  const { state, sid = 0, acceptedEpoch: epoch } = record
  if (state === 'accepted') return { name: 'accepted', sid, epoch }
  if (state === 'queued' || state === 'sending') return { name: 'queued' }
  return { name: 'rejected', error: rejectionOf(record) }
}

/** The reason of a rejected transaction, from its record. */
export function rejectionOf({ error }: OutboxRecord): RejectedError {
  const { code = 'unknown', message = 'The server rejected it.', details } = error ?? {}
  return new RejectedError(code, message, details)
}
