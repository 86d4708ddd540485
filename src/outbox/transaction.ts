import { Deferred } from '../base/deferred.ts'
import { Emitter, type Listener, type Undo } from '../base/emitter.ts'
import { ClosedError, RejectedError } from '../base/errors.ts'
import type { OutboxRecord } from '../database/outbox.ts'
import type { Payload } from '../protocol/json.ts'
import { nextTransactionState, type TransactionEvent, type TransactionState } from './transaction-state.ts'

/**
 * A change of the user's: all of it happens, or nothing. It is shown at once. None of its promises is an unhandled
 * rejection where nobody listens.
 */
export interface Transaction {
  /** A UUIDv7, under which it is sent; it stays the same over restarts. */
  readonly id: string
  readonly label: string | undefined
  /** When it was made, in ms since the epoch. */
  readonly at: number
  readonly state: TransactionState['name']
  /** Why it was rejected; `undefined` unless it was. */
  readonly rejection: RejectedError | undefined
  /** The rejected transaction that this one takes the place of. */
  readonly retryOf: string | undefined
  /** The records that it changes: before it, as it makes them, and as the server last said. */
  readonly records: readonly TouchedRecord[]
  /** Resolves once it is flushed to the disk; rejects with the StorageError for which it was taken back. */
  readonly durable: Promise<void>
  /** Resolves with the server's `sid` for it; rejects with a RejectedError, or with what `durable` rejects with. */
  readonly accepted: Promise<number>
  /** Resolves with that `sid` once the data that came from the server shows it; rejects as `accepted` does. */
  readonly synced: Promise<number>
  /** Resolves with its last state, and never rejects; a rejected one has settled. */
  readonly settled: Promise<TransactionState['name']>
  /** Calls `listener` after each change of `state`. */
  subscribe(listener: Listener<Transaction>): Undo
  /**
   * Takes it back: one that was not sent is cancelled; otherwise another transaction restores each field that still
   * holds what this one wrote. Resolves with that other one; with `undefined` where there is nothing to restore.
   */
  undo(): Promise<Transaction | undefined>
}

export interface TouchedRecord {
  readonly t: string
  readonly id: string
  /** The fields before the transaction; `undefined` where the record was not there. */
  readonly base: Payload | undefined
  readonly mine: Payload | undefined
  readonly theirs: Payload | undefined
}

/** What a transaction needs of those around it. */
export interface TransactionHost {
  records(record: OutboxRecord): readonly TouchedRecord[]
  undo(transaction: LocalTransaction): Promise<Transaction | undefined>
  /** The state of one is another. */
  changed(): void
  onListenerError(error: unknown): void
}

export class LocalTransaction implements Transaction {
  readonly #host: TransactionHost
  readonly #emitter: Emitter<{ change: Transaction }>
  readonly #durable = new Deferred<void>()
  readonly #accepted = new Deferred<number>()
  readonly #synced = new Deferred<number>()
  readonly #awaited = [this.#durable, this.#accepted, this.#synced]
  readonly #settled = new Deferred<TransactionState['name']>()
  #record: OutboxRecord
  #state: TransactionState
  #wasSent: boolean

  /** `state` is `writing` for one that is new; one that was restored is where `record` says. */
  constructor(record: OutboxRecord, state: TransactionState, host: TransactionHost) {
    this.#host = host
    this.#record = record
    this.#state = state
    // Of one that was found on disk it is not known.
    this.#wasSent = state.name === 'queued'
    this.#emitter = new Emitter((error) => host.onListenerError(error))
    // What was rejected before it was stored never comes to be durable.
    if (state.name !== 'writing') this.#durable.resolve()
    this.#settle()
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
    return this.#state.name === 'rejected' ? this.#state.error : undefined
  }

  get records(): readonly TouchedRecord[] {
    return this.#host.records(this.#record)
  }

  get durable(): Promise<void> {
    return this.#durable.promise
  }

  get accepted(): Promise<number> {
    return this.#accepted.promise
  }

  get synced(): Promise<number> {
    return this.#synced.promise
  }

  get settled(): Promise<TransactionState['name']> {
    return this.#settled.promise
  }

  subscribe(listener: Listener<Transaction>): Undo {
    return this.#emitter.on('change', listener)
  }

  undo(): Promise<Transaction | undefined> {
    return this.#host.undo(this)
  }

  /** As it is to be kept on disk. */
  get record(): OutboxRecord {
    return this.#record
  }

  /** Whether the server may have it, though no answer came. */
  get wasSent(): boolean {
    return this.#wasSent
  }

  /** Gives whether that made its state another. */
  dispatch(event: TransactionEvent): boolean {
    const { state } = nextTransactionState(this.#state, event)
    if (state === this.#state) return false
    if (event.type === 'send') this.#wasSent = true
    this.#state = state
    this.#record = recordOf(this.#record, state)
    this.#settle()
    this.#emitter.emit('change', this)
    this.#host.changed()
    return true
  }

  /** The client is closed: nobody is left waiting. */
  close(): void {
    const closed = new ClosedError(
      'The client was closed before this transaction had settled; it stays queued.',
    )
    for (const deferred of this.#awaited) deferred.reject(closed)
    this.#settled.resolve(this.state)
    this.#emitter.clear()
  }

  #settle(): void {
    const state = this.#state
    switch (state.name) {
      case 'writing':
        return
      case 'queued':
      case 'sending':
        this.#durable.resolve()
        return
      case 'synced':
        this.#synced.resolve(state.sid)
        this.#settled.resolve('synced')
        this.#accepted.resolve(state.sid)
        return
      case 'accepted':
        this.#durable.resolve()
        this.#accepted.resolve(state.sid)
        return
    }
    const error = errorOf(state)
    for (const deferred of this.#awaited) deferred.reject(error)
    this.#settled.resolve(state.name)
  }
}

function errorOf(state: TransactionState): unknown {
  if ('error' in state) return state.error
  return new RejectedError(state.name, `This transaction was ${state.name}.`)
}

function recordOf(record: OutboxRecord, state: TransactionState): OutboxRecord {
  const { sid: _, error: __, ...rest } = record
  switch (state.name) {
    case 'accepted':
      return { ...rest, state: 'accepted', sid: state.sid }
    case 'rejected': {
      const { reason: code, message, details } = state.error
      return { ...rest, state: 'rejected', error: { code, message, details } }
    }
    default:
      return { ...rest, state: 'queued' }
  }
}

/** Where a transaction stands that was kept as `record`. */
export function stateOf({ state, sid = 0, error }: OutboxRecord): TransactionState {
  if (state === 'accepted') return { name: 'accepted', sid }
  if (state === 'queued') return { name: 'queued' }
  const { code = 'unknown', message = 'The server refused it.', details } = error ?? {}
  return { name: 'rejected', error: new RejectedError(code, message, details) }
}
