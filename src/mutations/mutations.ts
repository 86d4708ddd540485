import type { Commit } from '../base/commit.ts'
import type { Environment } from '../base/environment.ts'
import type { ErrorReporter } from '../base/error-reporter.ts'
import { ClosedError, ConfigurationError, isSyncError, StorageError } from '../base/errors.ts'
import { createIds } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { Timer } from '../base/timer.ts'
import type { Models } from '../models/models.ts'
import type { Credentials } from '../network/credentials.ts'
import { isServiceResponse } from '../network/failure.ts'
import { noTxUrl } from '../network/http.ts'
import { Schedule, type ScheduleSignal } from '../network/schedule.ts'
import type { Transport } from '../network/transport.ts'
import type { Disk } from '../persistence/disk.ts'
import type { OutboxChange, OutboxNews, OutboxRecord } from '../persistence/outbox.ts'
import type { DeltaFrame } from '../protocol/delta.ts'
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

/** When to send a transaction again, in seconds, if the server cannot decide about it and does not say when. */
const heldSeconds = 5

/** The number of requests that may fail in a row before `status.writes.paused` has the reason. */
const maxLost = 2

export interface WritesStatus {
  /** The number of transactions that the data does not show yet. */
  readonly pending: number
  /** The number of transactions that wait in the outbox for a decision. */
  readonly rejected: number
  /**
   * The number of transactions that neither the disk nor the server is known to have: they are lost if the page is
   * closed. Left out if there are none, or if the store keeps nothing on purpose. A transaction that is just being
   * stored counts.
   */
  readonly unstored?: number
  /**
   * A sentence that says why none of the transactions are sent, or not all: the server takes no transactions, or cannot
   * decide about some; they cannot be encoded; there are no credentials; or three requests in a row got lost although
   * the connection is not `offline`.
   */
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
  /** The extensions that the hello of the server lists. */
  readonly features: () => readonly string[]
  /** Whether this tab receives the outbox messages of other tabs. */
  readonly hears: () => boolean
  /** Whether another tab, the leader, sends the transactions of this tab. */
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
  /** The server has removed records, which the data still has although it contains the removal. */
  removed(frames: readonly DeltaFrame[]): void
  /** A transaction waits until a fetch shows that the server is reachable. */
  waiting(): void
  /** The server did not answer. */
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
  /** Sends the transactions again that the server could not decide about. */
  readonly #release: Timer
  readonly #undoStack: UndoStack

  constructor(options: MutationsOptions) {
    const { environment, disk, replica, use, reporter, commit, listener } = options
    this.#options = options
    const outbox = new Outbox(options.onListenerError, () => commit.mark())
    this.#outbox = outbox
    this.#log = new OutboxLog(async (change) => {
      await disk.ready()
      return disk.outbox.write(async (store) => {
        const write = async (part: OutboxChange) => {
          const { last } = outbox
          const written = await store({ ...part, after: last, hears: last !== undefined && options.hears() })
          outbox.saw([...written.refused.values(), ...written.stored.values()])
          if (written.stored.size > 0) listener.stored([...written.stored.values()])
          return written
        }
        await this.transactions.storeLacking(write)
        return write(change)
      })
    })
    const { callerCheck } = options.credentials
    const shared = {
      ...options,
      callerCheck,
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
    })
    this.#maker = maker
    this.#rejected = new RejectedTransactions({ ...shared, rollback, maker })
    const acknowledgements = new Acknowledgements({ ...shared, rollback })
    this.acknowledgements = acknowledgements
    this.transactions = new StoredTransactions({ ...shared, rollback, host: maker, acknowledgements })
    const sender = new Sender({
      ...shared,
      review: (...args) => maker.review(...args),
      hold: (transaction, reason, retryAfter = heldSeconds) => {
        outbox.hold(transaction, reason)
        this.#release.within(Math.max(retryAfter, 1) * (1_000 + 500 * environment.random.number()))
      },
      listener: acknowledgements,
    })
    this.#scheduler = new Schedule<boolean>({
      environment,
      name: 'send',
      debug: options.logger.debug,
      run: async (signal) => {
        await this.transactions.open()
        // Send older transactions of other clients first. If reading them fails, send the others: they are safer at the
        // server.
        const isRead = !outbox.mayDiffer || (await this.#catchUp())
        if (!options.hears()) await this.transactions.readNew().catch(() => {})
        signal.throwIfAborted()
        acknowledgements.awaitData()
        try {
          if (options.follows()) return false
          const isReached = options.isReached() === true
          if (isReached) await sender.flush(signal)
          else if (outbox.pending > 0) listener.waiting()
          return isReached
        } finally {
          // Another tab has changed the outbox since it was read.
          if (outbox.mayDiffer) this.#scheduler.dispatch('want')
          if (!isRead) outbox.mayDiffer = true
        }
      },
      // A run that sends nothing does not reset the count of failures.
      proves: (wasReached) => wasReached,
      // `other_user`: the next fetch notices the other user, too, and pauses or resumes.
      floorMs: (error) => (isPause(error) ? pauseMs : error.code === 'other_user' ? 0 : undefined),
      onFailure: (error) => {
        if (!isServiceResponse(error)) listener.unreached()
        const isOutdated = error.code === 'discontinuous'
        // Report only a second failure in a row: after the first one, a reset may just be due, which is reported
        // itself.
        if (!isOutdated || this.#scheduler.failures > 1) reporter.failure(error)
        // If the credentials have ended, the delta is refused, too: all of syncing pauses, and the status says so.
        if (isOutdated || isSyncError(error, 'UnauthenticatedError')) listener.fetchNeeded()
      },
      onChange: () => commit.mark(),
    })
    this.#release = new Timer(environment.clock, () => {
      outbox.release()
      this.#scheduler.dispatch('want')
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

  /** The status of writing. `paused` leaves out the reasons that `status.connection` shows. */
  status({ state }: { readonly state: string }): WritesStatus {
    const { pending, rejected, holdReason } = this.#outbox
    const { failure, failures } = this.#scheduler
    const isLost = failures > maxLost && state !== 'offline' && isSyncError(failure, 'NetworkError')
    const paused = failure && (isLost || this.#isHeld) ? failure.message : holdReason
    const unstored = this.#unstored
    return {
      pending,
      rejected,
      ...(unstored > 0 && { unstored }),
      ...(paused !== undefined && { paused }),
    }
  }

  /** See `WritesStatus.unstored`. */
  get #unstored(): number {
    const { disk } = this.#options
    if (!disk.isDurable) return 0
    return disk.isGone || this.#outbox.lost > 0 ? this.unsent.length : this.#outbox.unstored.size
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

  /**
   * A fetch has succeeded. `hadFailed`: the fetch before it had failed, so a proxy that refused transactions may now
   * pass them.
   */
  reached(hadFailed: boolean): void {
    if (!hadFailed) this.#scheduler.dispatch('want')
    else this.#scheduler.dispatch(isPause(this.#scheduler.failure) ? 'resume' : 'hurry')
  }

  /** Starts sending, or sends again, as `type` asks. */
  dispatch(type: ScheduleSignal): void {
    // A tab that was closed right after a write may have sent no message.
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

  /** Reads the stored transactions, which other tabs may have changed without a message, and sends the queued ones. */
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
    // `canUndo` and `canRedo` are now `false`: notify the subscribers.
    if (this.#options.ended()) this.#outbox.touch()
    await this.#scheduler.stop()
    this.#release.clear()
    this.#outbox.release()
    // The last request may have started a timer. Keep the timers if sending was started again.
    if (this.#scheduler.phase !== 'halted') return
    this.acknowledgements.stop()
    this.#rejected.stop()
  }

  /** Resolves once every pending write to the disk has succeeded or failed. */
  async settled(): Promise<void> {
    await this.#log.settled()
  }

  /** Stores the transactions that are not stored yet, then settles the promises of all. Call after `Disk.seal`. */
  async close(): Promise<void> {
    await this.transactions.settled()
    await this.acknowledgements.close()
    this.transactions.storeAgain()
    while (await this.#log.settled()) {
      // A write that ended has started another.
    }
    const lost = this.#unstored
    const message = `Writes that neither the disk nor the server has confirmed: ${lost}.`
    if (lost > 0) this.#options.reporter.error(new StorageError('unavailable', message))
    for (const transaction of this.#outbox.list()) transaction.close()
  }

  /** The transactions without a result of the server. */
  get unsent(): readonly LocalTransaction[] {
    return this.#outbox.list().filter((transaction) => hasNoResult(transaction))
  }

  /** The records of this client's transactions that the disk may lack. `isOpen`: whether a database is open. */
  own(isOpen: boolean): readonly OutboxRecord[] {
    const isLost = !isOpen || this.#outbox.lost > 0
    const own = this.#outbox.list().filter(({ isStored }) => isLost || !isStored)
    return own.map(({ record }) => record)
  }

  /** The ids of the transactions that the server has accepted and the disk may still have. */
  get accepted(): readonly string[] {
    const accepted = this.#outbox.list().filter(({ state }) => state === 'accepted')
    return [...accepted.map(({ id }) => id), ...this.acknowledgements.toEnd]
  }

  /**
   * Empties the outbox after the user has signed out. `isChosen`: `logout` was called here, and decided about the
   * transactions that the disk does not have. Call when the disk is sealed.
   */
  async end(isChosen: boolean): Promise<void> {
    await this.transactions.settled()
    while (await this.#log.settled()) {
      // A write that ended has started another.
    }
    const ended = await this.transactions.end(isChosen)
    // Subscribers hear which transactions have failed; then they hear nothing more.
    this.#options.commit.now()
    const error = new ClosedError('The user has signed out.', { code: 'signed_out' })
    for (const transaction of ended) transaction.close(error)
  }

  /**
   * Runs `body` as a transaction and returns the transaction. Throws a ClosedError, a ConfigurationError if the client
   * cannot write, and the error of `body`. Nothing has changed then.
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
