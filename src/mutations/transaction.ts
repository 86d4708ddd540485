import { Deferred } from '../base/deferred.ts'
import { Emitter, type Listener, type Unsubscribe } from '../base/emitter.ts'
import { ClosedError, RejectedError, type SyncError } from '../base/errors.ts'
import type { OutboxRecord } from '../persistence/outbox.ts'
import type { Payload } from '../protocol/json.ts'
import type { Effect } from './inverse.ts'
import { nextTransactionState, type TransactionEvent, type TransactionState } from './transaction-state.ts'

/**
 * A change that the user made: the server applies all of it or nothing. It is shown at once. A rejected promise that
 * nobody awaits is never an unhandled rejection.
 */
export interface Transaction {
  /** A UUIDv7, which stays the same over restarts. The transaction is sent under this id. */
  readonly id: string
  readonly label: string | undefined
  /** The time when it was made, in ms since the epoch. */
  readonly at: number
  readonly state: TransactionState['name']
  /**
   * Why it was rejected, or why it `failed`, with the code of the StorageError as `reason`; `undefined` unless it is
   * `rejected`, `discarded` or `failed`.
   */
  readonly rejection: RejectedError | undefined
  /** The id of the rejected transaction that this one replaces. */
  readonly retryOf: string | undefined
  /** The records that it changes: before the change, after it, and as the server last sent them. */
  readonly records: readonly TouchedRecord[]
  /**
   * Resolves once it is flushed to the disk, or accepted by the server if the disk fails. Rejects with the StorageError
   * of the disk if both fail; with a RejectedError if it is undone or rejected before.
   */
  readonly durable: Promise<void>
  /**
   * Resolves with the `sid` of its last change once the server has accepted it. Rejects with a RejectedError, with what
   * `durable` rejects with, or with a ClosedError if the client is closed before.
   */
  readonly accepted: Promise<number>
  /** Resolves with the same `sid` once the data from the server contains it. Rejects as `accepted` does. */
  readonly synced: Promise<number>
  /**
   * Resolves with its last state, or with its state when the client is closed. Never rejects. A rejected transaction
   * has settled.
   */
  readonly settled: Promise<TransactionState['name']>
  /** Calls `listener` when `state` has changed. Changes that happen together are reported once. */
  subscribe(listener: Listener<Transaction>): Unsubscribe
  /**
   * Undoes it. An unsent transaction is cancelled; for a sent one, another transaction restores each field that still
   * has the written value. Resolves with that other transaction, or with `undefined` if there is nothing to restore.
   * Rejects with what `mutate` throws, and with a StorageError if the disk fails: the transaction then stays as it was.
   */
  undo(): Promise<Transaction | undefined>
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

/** The functions of its maker that a transaction calls. */
export interface TransactionHost {
  records(record: OutboxRecord): readonly TouchedRecord[]
  undo(transaction: LocalTransaction): Promise<LocalTransaction | undefined>
  /** Called when the state of a transaction has changed. `LocalTransaction.notify` is to be called some time later. */
  changed(transaction: LocalTransaction): void
  readonly onListenerError: (error: unknown) => void
}

interface Promises {
  durable?: Deferred<void>
  accepted?: Deferred<number>
  synced?: Deferred<number>
  settled?: Deferred<TransactionState['name']>
}

export class LocalTransaction implements Transaction {
  /** The transaction that this one undoes. `record.undoes` finds it again after a restart, while it is pending. */
  undoes: LocalTransaction | undefined
  /** The transaction that this one, rejected or cancelled, was written again as. */
  rewrittenAs: LocalTransaction | undefined
  readonly #host: TransactionHost
  /** Made on demand, as are the promises: there may be many thousands of transactions. */
  #emitter: Emitter<{ change: Transaction }> | undefined
  #promises: Promises = {}
  #record: OutboxRecord
  #state: TransactionState
  #isDurable: boolean
  /** The error of the store if it did not accept the transaction. */
  #storeError: SyncError | undefined
  #effects: readonly Effect[] | undefined
  /** The error of promises that have not settled; `undefined` until the client is closed. */
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
    this.#promises.durable ??= new Deferred()
    return this.#promiseOf(this.#promises.durable)
  }

  get accepted(): Promise<number> {
    this.#promises.accepted ??= new Deferred()
    return this.#promiseOf(this.#promises.accepted)
  }

  get synced(): Promise<number> {
    this.#promises.synced ??= new Deferred()
    return this.#promiseOf(this.#promises.synced)
  }

  get settled(): Promise<TransactionState['name']> {
    this.#promises.settled ??= new Deferred()
    return this.#promiseOf(this.#promises.settled)
  }

  subscribe(listener: Listener<Transaction>): Unsubscribe {
    this.#emitter ??= new Emitter(this.#host.onListenerError)
    return this.#emitter.on('change', listener)
  }

  undo(): Promise<LocalTransaction | undefined> {
    return this.#host.undo(this)
  }

  /** The record to store on the disk. */
  get record(): OutboxRecord {
    return this.#record
  }

  /** Whether the disk has it. */
  get isStored(): boolean {
    return this.#isDurable
  }

  /** Its effect on each record, saved when the data came to contain it or when it was taken back. */
  get effects(): readonly Effect[] | undefined {
    return this.#effects
  }

  /** Saves its effects. The first call counts. */
  note(effects: readonly Effect[]): void {
    this.#effects ??= effects
  }

  /** Whether the server may have it, with or without a response. */
  get wasSent(): boolean {
    return this.#record.state !== 'queued'
  }

  /** Changes the record. */
  amend(
    change: Partial<
      Pick<OutboxRecord, 'key' | 'ops' | 'before' | 'sent' | 'bases' | 'requires' | 'since' | 'epoch'>
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
    if (event.type === 'restore') this.#startAgain()
    if (event.type === 'requeue') this.#effects = undefined
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

  /** Settles all promises, since the client is closed: with `error`, unless the state decides. */
  close(
    error = new ClosedError('The client was closed before this transaction settled. It stays queued.'),
  ): void {
    this.#closed = error
    this.#settle()
    this.#emitter?.clear()
  }

  /** Starts again as restored from the disk: promises that have settled no longer apply to later callers. */
  #startAgain(): void {
    this.#isDurable = true
    this.#effects = undefined
    this.#promises = {}
  }

  #promiseOf<T>({ promise }: Deferred<T>): Promise<T> {
    this.#settle()
    return promise
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
      // Once it was sent, the server may have it.
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

/** Why a transaction that was stored as rejected was rejected. */
export function rejectionOf({ error }: OutboxRecord): RejectedError {
  const { code = 'unknown', message = 'The server rejected it.', details } = error ?? {}
  return new RejectedError(code, message, details)
}
