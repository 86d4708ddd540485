import type { Commit } from '../base/commit.ts'
import type { Environment } from '../base/environment.ts'
import type { ErrorReporter } from '../base/error-reporter.ts'
import { type ClosedError, ConfigurationError, isSyncError } from '../base/errors.ts'
import { createIds } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import type { Models } from '../models/models.ts'
import type { Credentials } from '../network/credentials.ts'
import { isServiceResponse } from '../network/failure.ts'
import { noTxUrl } from '../network/http.ts'
import { Schedule, type ScheduleSignal } from '../network/schedule.ts'
import type { Transport } from '../network/transport.ts'
import type { Disk } from '../persistence/disk.ts'
import type { OutboxNews, OutboxRecord } from '../persistence/outbox.ts'
import type { TxCodec } from '../protocol/tx.ts'
import type { Replica } from '../records/replica.ts'
import { Acknowledgements, type AcknowledgementsListener } from './acknowledgements.ts'
import type { DataPosition } from './data-position.ts'
import type { Mutator } from './draft.ts'
import { OptimisticUpdates } from './optimistic-updates.ts'
import { hasNoResult, Outbox } from './outbox.ts'
import { OutboxLog } from './outbox-log.ts'
import { RejectedTransactions, type RejectedTransactionsListener } from './rejected-transactions.ts'
import { Rollback, type RollbackListener } from './rollback.ts'
import { rowsToWrite } from './rows-to-write.ts'
import { isPause, Sender } from './sender.ts'
import { StoredTransactions } from './stored-transactions.ts'
import type { LocalTransaction, Transaction } from './transaction.ts'
import { TransactionMaker } from './transaction-maker.ts'
import { UndoStack } from './undo-stack.ts'
import type { Merge, MutateOptions, WriterOutbox } from './writer.ts'

/** The wait before the next try, in ms, after the server has refused all transactions. */
const pauseMs = 300_000

/** The number of requests that may fail in a row before `status.writes.paused` says so. */
const maxLost = 2

/** The number of pending and of rejected transactions. `paused` says why none is sent. */
export interface WritesStatus {
  readonly pending: number
  readonly rejected: number
  readonly paused?: string
}

export interface MutationsOptions {
  readonly environment: Environment
  readonly logger: Logger
  readonly transport: Transport
  readonly credentials: Credentials
  readonly codec: TxCodec
  /** Whether there is an address to send transactions to. */
  readonly canWrite: boolean
  readonly replica: Replica
  readonly models: Models
  readonly merge: Merge | undefined
  /** Time in ms for the data to show an accepted transaction; after that, the client fetches the data. */
  readonly echoTimeout: number
  readonly disk: Disk
  /** The position of the local data; `undefined` until there is data. */
  readonly position: () => DataPosition | undefined
  /** See `EngineState.isReached`. Transactions are sent only while it is `true`. */
  readonly isReached: () => boolean | undefined
  /** Loads the records of a lazy type. */
  readonly use: (t: string) => void
  /** Whether the hello of the server lists `was`. */
  readonly hasWas: () => boolean
  /** Whether changes of the outbox by other tabs are heard of. */
  readonly hears: () => boolean
  /** Whether another tab, the leader, sends for this one. */
  readonly follows: () => boolean
  /** The error of calls after the client has ended; `undefined` before. */
  readonly ended: () => ClosedError | undefined
  readonly reporter: ErrorReporter
  readonly commit: Commit
  readonly onListenerError: (error: unknown) => void
  readonly listener: MutationsListener
}

export interface MutationsListener {
  /** A rejected transaction waits in the outbox for a decision. */
  rejected(transaction: Transaction): void
  /**
   * The data does not yet show a result, or the server has another history, or the credentials may have ended.
   */
  fetchNeeded(): void
  /** The stored transactions were changed: other tabs have to know. */
  stored(news: OutboxNews): void
  /** A transaction waits to be sent, and the server is not reachable or not known to be. */
  unreached(): void
}

/** The writing half of an engine: connects the parts that make, store, send and settle transactions. */
export class Mutations {
  readonly outbox: WriterOutbox
  readonly acknowledgements: Acknowledgements
  readonly transactions: StoredTransactions
  readonly #options: MutationsOptions
  readonly #outbox: Outbox
  readonly #log: OutboxLog
  readonly #maker: TransactionMaker
  readonly #rejected: RejectedTransactions
  readonly #scheduler: Schedule<boolean>
  readonly #undoStack: UndoStack

  constructor(options: MutationsOptions) {
    const { environment, disk, replica, use, reporter, commit, listener } = options
    this.#options = options
    const outbox = new Outbox(options.onListenerError, () => commit.mark())
    this.#outbox = outbox
    this.#log = new OutboxLog(async (change) => {
      await disk.open()
      const { last } = outbox
      const hears = last !== undefined && options.hears()
      const written = await disk.outbox.write({ ...change, after: last, hears })
      if (written.stored.size > 0) listener.stored([...written.stored.values()])
      return written
    })
    const shared = {
      ...options,
      optimisticUpdates: new OptimisticUpdates({ replica, outbox }),
      clock: environment.clock,
      ids: createIds(environment.clock, environment.random),
      outbox,
      log: this.#log,
      listener: this.#listener(),
    }
    const rollback = new Rollback(shared)
    const maker = new TransactionMaker({
      ...shared,
      rollback,
      rows: rowsToWrite(replica, use),
      canSend: () => options.isReached() !== false && this.#scheduler.phase !== 'halted' && !this.#isHeld,
    })
    this.#maker = maker
    this.#rejected = new RejectedTransactions({ ...shared, rollback, maker })
    const acknowledgements = new Acknowledgements({ ...shared, rollback })
    this.acknowledgements = acknowledgements
    this.transactions = new StoredTransactions({ ...shared, rollback, host: maker, acknowledgements })
    const sender = new Sender({
      ...shared,
      review: (...args) => maker.review(...args),
      callerCheck: options.credentials.callerCheck,
      listener: acknowledgements,
    })
    this.#scheduler = new Schedule<boolean>({
      environment,
      name: 'send',
      debug: options.logger.debug,
      run: async (signal) => {
        await this.transactions.open()
        // Send older transactions of other clients first. If reading them fails, send the rest: it is safer at the
        // server.
        const isRead = !outbox.mayDiffer || (await this.#catchUp())
        if (!options.hears()) await this.transactions.readNew().catch(() => {})
        signal.throwIfAborted()
        acknowledgements.awaitData()
        try {
          if (options.follows()) return false
          const isReached = options.isReached() === true
          if (isReached) await sender.flush(signal)
          else if (outbox.pending > 0) listener.unreached()
          return isReached
        } finally {
          // It differs again since it was read.
          if (outbox.mayDiffer) this.#scheduler.dispatch('want')
          if (!isRead) outbox.mayDiffer = true
        }
      },
      // A run that sends nothing does not end a row of failures.
      proves: (wasReached) => wasReached,
      // `other_user`: fetching the data notices that another user is signed in, too, and pauses or resumes.
      floorMs: (error) => (isPause(error) ? pauseMs : error.code === 'other_user' ? 0 : undefined),
      onFailure: (error) => {
        if (!isServiceResponse(error)) listener.unreached()
        const isOutdated = error.code === 'discontinuous'
        // The first time, the data may just lag a reset, which reports itself.
        if (!isOutdated || this.#scheduler.failures > 1) reporter.failure(error)
        // If the credentials have ended, the delta is refused, too: all of syncing pauses, and the status says so.
        if (isOutdated || isSyncError(error, 'UnauthenticatedError')) listener.fetchNeeded()
      },
      onChange: () => commit.mark(),
    })
    this.#undoStack = new UndoStack(maker)
    this.outbox = {
      list: ({ state } = {}) =>
        outbox.list().filter((transaction) => state === undefined || transaction.state === state),
      get: (id) => outbox.get(id),
      subscribe: (onChange) => outbox.subscribe(onChange),
      retry: (id, edit) => {
        const transaction = this.#rejected.retry(id, edit)
        commit.now()
        return transaction
      },
      discard: (id) => {
        const discarded = this.#rejected.discard(id)
        commit.now()
        return discarded
      },
      export: () => this.transactions.export(),
    }
  }

  /** The status of writing. `paused` leaves out what `status.connection` already says. */
  status({ state }: { readonly state: string }): WritesStatus {
    const { pending, rejected } = this.#outbox
    const { failure, failures } = this.#scheduler
    const isLost = failures > maxLost && state !== 'offline' && isSyncError(failure, 'NetworkError')
    return {
      pending,
      rejected,
      ...(failure && (isLost || this.#isHeld) ? { paused: failure.message } : undefined),
    }
  }

  /** Whether nothing is sent until the credentials, the options or the server change. */
  get #isHeld(): boolean {
    const { failure } = this.#scheduler
    return (
      isPause(failure) ||
      isSyncError(failure, 'UnauthenticatedError') ||
      isSyncError(failure, 'ConfigurationError')
    )
  }

  /** A read has succeeded. `hadFailed`: after one that failed, so that a proxy may take transactions again, too. */
  reached(hadFailed: boolean): void {
    if (!hadFailed) this.#scheduler.dispatch('want')
    else this.#scheduler.dispatch(isPause(this.#scheduler.failure) ? 'resume' : 'hurry')
  }

  /** Starts sending, or sends again, as `type` asks. */
  dispatch(type: ScheduleSignal): void {
    // A tab that was closed right after a write may have said nothing of it.
    if (type === 'hurry') this.#outbox.mayDiffer = true
    // The server may accept transactions from another caller.
    this.#scheduler.dispatch(type === 'renew' && isPause(this.#scheduler.failure) ? 'resume' : type)
  }

  /** Another tab has changed the stored transactions. */
  heard(news: OutboxNews): void {
    if (this.#options.ended()) return
    this.transactions.heard(news)
    if (this.#outbox.mayDiffer) this.#scheduler.dispatch('want')
  }

  /** Other tabs may have changed stored transactions unheard: reads them, and sends what is to be sent. */
  readAgain(): void {
    this.#outbox.mayDiffer = true
    this.#scheduler.dispatch('want')
  }

  /** Calls the subscribers of the outbox and of its transactions, if anything has changed since the last call. */
  notify(): void {
    this.#outbox.notify()
  }

  /** Stops sending. Resolves once no request is running. */
  async stop(): Promise<void> {
    // A closed client can no longer undo: let subscribers know.
    if (this.#options.ended()) this.#outbox.touch()
    await this.#scheduler.stop()
    // The last request may have started a timer. Keep the timers if sending was started again.
    if (this.#scheduler.phase !== 'halted') return
    this.acknowledgements.stop()
  }

  /** Resolves once every pending write to the disk has succeeded or failed. */
  async settled(): Promise<void> {
    await this.#log.settled()
  }

  /** Stores what is not stored yet, then settles all promises of transactions. Call after `Disk.seal`. */
  async close(): Promise<void> {
    await this.transactions.settled()
    await this.acknowledgements.close()
    this.transactions.storeAgain()
    while (await this.#log.settled()) {
      // A write that ended has started another.
    }
    for (const transaction of this.#outbox.list()) transaction.close()
  }

  /** The transactions that the server has not answered. */
  get unsent(): readonly LocalTransaction[] {
    return this.#outbox.list().filter((transaction) => hasNoResult(transaction))
  }

  /** The records of this client's transactions that the disk does not have; `isOpen`: whether there is a disk. */
  own(isOpen: boolean): readonly OutboxRecord[] {
    const own = this.#outbox.list().filter(({ isStored }) => !isOpen || !isStored)
    return own.map(({ record }) => record)
  }

  /** The ids of the transactions that the server has accepted and the disk may still have. */
  get accepted(): readonly string[] {
    const accepted = this.#outbox.list().filter(({ state }) => state === 'accepted')
    return [...accepted.map(({ id }) => id), ...this.acknowledgements.toEnd.map(({ id }) => id)]
  }

  /**
   * The user has signed out, so that nothing more is stored or sent: empties the outbox. `isChosen`: it was decided here
   * what becomes of the transactions that the disk did not have. To be called once the disk is sealed.
   */
  async end(isChosen: boolean): Promise<void> {
    await this.transactions.settled()
    while (await this.#log.settled()) {
      // A write that ended has started another.
    }
    await this.transactions.end(isChosen)
  }

  /**
   * Runs `body` as a transaction and returns it. Throws a ClosedError, a ConfigurationError if the client cannot write,
   * and what `body` throws; nothing has changed then.
   */
  mutate(body: (mutator: Mutator) => unknown, options: MutateOptions): Transaction {
    this.#maker.refuseClosed()
    if (!this.#options.canWrite) throw new ConfigurationError('endpoints.txUrl', noTxUrl)
    const transaction = this.#maker.mutate(body, options)
    this.#undoStack.note(transaction)
    this.#options.commit.now()
    return transaction
  }

  /** Whether `undo` has a step to undo. */
  get canUndo(): boolean {
    return !this.#options.ended() && this.#undoStack.canUndo
  }

  /** Whether `redo` has a step to redo. */
  get canRedo(): boolean {
    return !this.#options.ended() && this.#undoStack.canRedo
  }

  /** Undoes the last step. Resolves with `false` if there is none. */
  undo(): Promise<boolean> {
    return this.#undoStack.undo()
  }

  /** Redoes the step that was undone last. Resolves with `false` if there is none. */
  redo(): Promise<boolean> {
    const redone = this.#undoStack.redo()
    this.#options.commit.now()
    return redone
  }

  /** Reads what other tabs have changed. Resolves with whether that has succeeded. */
  #catchUp(): Promise<boolean> {
    this.#outbox.mayDiffer = false
    return this.transactions.catchUp().then(
      () => true,
      () => false,
    )
  }

  /** Connects the events of the parts with each other and with the engine. */
  #listener(): RollbackListener & RejectedTransactionsListener & AcknowledgementsListener {
    const { listener } = this.#options
    return {
      ...listener,
      queued: () => this.#scheduler.dispatch('want'),
      restored: (transaction, lost) => {
        this.#undoStack.replace(lost, transaction)
        this.#rejected.restored(transaction)
      },
      rejectionShown: (transaction) => this.#rejected.settle(transaction),
      retried: (rejected, transaction) => this.#undoStack.replace(rejected, transaction),
    }
  }
}
