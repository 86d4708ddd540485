import { Deferred } from '../base/deferred.ts'
import { Emitter, type Listener, type Unsubscribe } from '../base/emitter.ts'
import { ClosedError, RejectedError, type SyncError } from '../base/errors.ts'
import type { OutboxRecord } from '../persistence/outbox.ts'
import type { Payload } from '../protocol/json.ts'
import type { Effect } from './inverse.ts'
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
  /**
   * Resolves once it is flushed to the disk, or accepted by the server where the disk does not take it. Rejects with the
   * disk's StorageError where neither took it; with a RejectedError where, before that, it was undone or rejected.
   */
  readonly durable: Promise<void>
  /**
   * Resolves with the server's `sid` for it. Rejects with a RejectedError, with what `durable` rejects with, or with a
   * ClosedError where the client is closed before.
   */
  readonly accepted: Promise<number>
  /** Resolves with that `sid` once the data that came from the server shows it; rejects as `accepted` does. */
  readonly synced: Promise<number>
  /** Resolves with its last state, or with that in which the client is closed, and never rejects; a rejected one has settled. */
  readonly settled: Promise<TransactionState['name']>
  /** Calls `listener` after each change of `state`. */
  subscribe(listener: Listener<Transaction>): Unsubscribe
  /**
   * Takes it back: one that was not sent is cancelled; otherwise another transaction restores each field that still
   * holds what this one wrote. Resolves with that other one; with `undefined` where there is nothing to restore.
   * Rejects with what `mutate` throws, and with a StorageError where the disk does not let it go: then it stands.
   */
  undo(): Promise<Transaction | undefined>
}

export interface TouchedRecord {
  readonly type: string
  readonly id: string
  /** The fields before the transaction; `undefined` where the record was not there. */
  readonly base: Payload | undefined
  readonly mine: Payload | undefined
  readonly theirs: Payload | undefined
}

/** What a transaction needs of those around it. */
export interface TransactionHost {
  records(record: OutboxRecord): readonly TouchedRecord[]
  undo(transaction: LocalTransaction): Promise<LocalTransaction | undefined>
  /** The state of one is another. */
  changed(): void
  readonly onListenerError: (error: unknown) => void
}

interface Promises {
  durable?: Deferred<void>
  accepted?: Deferred<number>
  synced?: Deferred<number>
  settled?: Deferred<TransactionState['name']>
}

export class LocalTransaction implements Transaction {
  readonly #host: TransactionHost
  /** What nobody asks for is not made: there may be many thousands of transactions. */
  #emitter: Emitter<{ change: Transaction }> | undefined
  #promises: Promises = {}
  #record: OutboxRecord
  #state: TransactionState
  #isDurable: boolean
  /** Why the store did not take it. */
  #storeError: SyncError | undefined
  #effects: readonly Effect[] | undefined
  #sentAs: OutboxRecord['ops'] | undefined
  readonly #tried: string[] = []
  #isClosed = false

  /** `state` is `writing` for one that is new; one that was restored is where `record` says. */
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

  /** As it is to be kept on disk. */
  get record(): OutboxRecord {
    return this.#record
  }

  /** Whether it is still to come to an end. */
  get isPending(): boolean {
    return isPending(this.#state)
  }

  /** Whether it is on the disk. */
  get isStored(): boolean {
    return this.#isDurable
  }

  /** What it did to each record, as it was when the data came to show it, or when it was taken back. */
  get effects(): readonly Effect[] | undefined {
    return this.#effects
  }

  /** Notes its effects. Those that were noted first count. */
  note(effects: readonly Effect[]): void {
    this.#effects ??= effects
  }

  /** Whether the server may have it, though no answer came. */
  get wasSent(): boolean {
    return this.#record.state !== 'queued'
  }

  /** As what it is sent. */
  get sent(): OutboxRecord['ops'] {
    return this.#sentAs ?? this.#record.ops
  }

  /** Lets it be sent in another of its shapes, or of those in which another client has `stored` it. Gives whether one is left. */
  sendOtherwise(stored: OutboxRecord | undefined): boolean {
    const theirs = stored ? [...(stored.shapes ?? []), stored.ops] : []
    const shapes = [...(this.#record.shapes ?? []), ...theirs]
    this.#record = { ...this.#record, shapes }
    this.#tried.push(JSON.stringify(this.sent))
    this.#sentAs = shapes.findLast((shape) => !this.#tried.includes(JSON.stringify(shape)))
    return this.#sentAs !== undefined
  }

  /** It is to do something else than it was. */
  amend(change: Partial<Pick<OutboxRecord, 'ops' | 'bases' | 'requires' | 'since' | 'epoch'>>): void {
    this.#record = { ...this.#record, ...change }
  }

  /** Gives whether that made its state another. */
  dispatch(event: TransactionEvent): boolean {
    // What was rejected before it was stored never comes to be durable.
    if (event.type === 'stored' && this.isPending) this.#isDurable = true
    const { state } = nextTransactionState(this.#state, event)
    if (state === this.#state) {
      this.#settle()
      return false
    }
    if (event.type === 'unstored') this.#storeError = event.error
    if (event.type === 'restore') this.#begin()
    if (event.type === 'requeue') this.#effects = undefined
    this.#state = state
    this.#record = recordOf(this.#record, state)
    this.#settle()
    this.#emitter?.emit('change', this)
    this.#host.changed()
    return true
  }

  /** The client is closed: nobody is left waiting. */
  close(): void {
    this.#isClosed = true
    this.#settle()
    this.#emitter?.clear()
  }

  /** It is as it was on the disk: what was told of its end holds no longer for whoever asks from now on. */
  #begin(): void {
    this.#isDurable = true
    this.#effects = undefined
    this.#promises = {}
  }

  #promiseOf<T>({ promise }: Deferred<T>): Promise<T> {
    this.#settle()
    return promise
  }

  /** Settles what is asked for as far as its state decides it; what is settled stays as it is. */
  #settle(): void {
    const state = this.#state
    const { durable, accepted, synced, settled } = this.#promises
    if (this.#isDurable || 'sid' in state) durable?.resolve()
    if ('sid' in state) accepted?.resolve(state.sid)
    if (state.name === 'synced') synced?.resolve(state.sid)
    if (isPending(state) && !this.#isClosed) return
    settled?.resolve(state.name)
    const awaited = [durable, accepted, synced].flatMap((deferred) => deferred ?? [])
    if (state.name === 'synced' || awaited.length === 0) return
    const error = (isPending(state) && !this.#isDurable && this.#storeError) || errorOf(state)
    for (const deferred of awaited) deferred.reject(error)
  }
}

/** Whether it is still to come to an end. */
function isPending({ name }: TransactionState): boolean {
  return name === 'writing' || name === 'queued' || name === 'sending' || name === 'accepted'
}

function errorOf(state: TransactionState): unknown {
  if ('error' in state) return state.error
  if (isPending(state)) {
    return new ClosedError('The client was closed before this transaction had settled; it stays queued.')
  }
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
      // What was sent once may be at the server, whatever follows.
      return { ...rest, state: record.state === 'queued' && state.name !== 'sending' ? 'queued' : 'sending' }
  }
}

/** Where a transaction stands that was kept as `record`. */
export function stateOf({ state, sid = 0, acceptedEpoch: epoch, error }: OutboxRecord): TransactionState {
  if (state === 'accepted') return { name: 'accepted', sid, epoch }
  if (state === 'queued' || state === 'sending') return { name: 'queued' }
  const { code = 'unknown', message = 'The server refused it.', details } = error ?? {}
  return { name: 'rejected', error: new RejectedError(code, message, details) }
}
