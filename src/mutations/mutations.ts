import type { Environment } from '../base/environment.ts'
import type { ErrorReporter } from '../base/error-reporter.ts'
import { ConfigurationError, isSyncError } from '../base/errors.ts'
import { createIds } from '../base/ids.ts'
import { Timer } from '../base/timer.ts'
import type { Models } from '../models/models.ts'
import type { Credentials } from '../network/credentials.ts'
import { isAnswered } from '../network/failure.ts'
import { noTxUrl } from '../network/http.ts'
import { Schedule } from '../network/schedule.ts'
import type { Transport } from '../network/transport.ts'
import type { Disk } from '../persistence/disk.ts'
import type { TxCodec } from '../protocol/tx.ts'
import type { Replica } from '../records/replica.ts'
import { Acknowledgements, type AcknowledgementsListener } from './acknowledgements.ts'
import type { DataPosition } from './data-position.ts'
import type { Mutator } from './draft.ts'
import { OptimisticUpdates, type OptimisticUpdatesListener } from './optimistic-updates.ts'
import { Outbox } from './outbox.ts'
import { OutboxLog } from './outbox-log.ts'
import { RejectedTransactions, type RejectedTransactionsListener } from './rejected-transactions.ts'
import { Rollback, type RollbackListener } from './rollback.ts'
import { rowsToWrite } from './rows-to-write.ts'
import { isPause, Sender } from './sender.ts'
import { StoredTransactions } from './stored-transactions.ts'
import type { Transaction } from './transaction.ts'
import { TransactionMaker } from './transaction-maker.ts'
import { UndoStack } from './undo-stack.ts'
import type { Merge, MutateOptions, WriterOutbox } from './writer.ts'

/** A server that takes no transactions is asked again after this. */
const pauseMs = 300_000

/** What other clients may have left on the disk is read this long after the data has shown it, in ms. */
const othersMs = 1_000

/** So many requests in a row may get lost without a word. */
const maxLost = 2

/** How many transactions the outbox holds, and why none is sent, if that is so. */
export interface WritesStatus {
  readonly pending: number
  readonly rejected: number
  readonly paused?: string
}

export interface MutationsOptions {
  readonly environment: Environment
  readonly transport: Transport
  readonly credentials: Credentials
  readonly codec: TxCodec
  /** Whether there is somewhere to send transactions. */
  readonly canWrite: boolean
  readonly replica: Replica
  readonly models: Models
  readonly merge: Merge | undefined
  /** How long the data may take to show what was accepted, before it is fetched, in ms. */
  readonly echoTimeout: number
  readonly disk: Disk
  /** Where the data is; `undefined` until there is some. */
  readonly position: () => DataPosition | undefined
  /** Whether the server can be reached; `undefined` until that is known: nothing is sent before it has answered a read. */
  readonly isReached: () => boolean | undefined
  /** Records of the type are wanted. */
  readonly use: (t: string) => void
  /** Whether it is over: what is asked of it then is refused. */
  readonly isClosed: () => boolean
  readonly reporter: ErrorReporter
  readonly onListenerError: (error: unknown) => void
  readonly listener: MutationsListener
}

export type MutationsListener = OptimisticUpdatesListener & {
  /** A transaction waits for somebody to decide. */
  rejected(transaction: Transaction): void
  /** `status` may be another. */
  changed(): void
  /** The data does not show yet what was said here: by what the server judged, which history it has, or who may ask. */
  missing(): void
  /** Something waits to be sent, and the server is out of reach, or is not known to be in reach. */
  unreached(): void
}

/** The writing half of a session: it joins the parts that make, keep, send and settle transactions. */
export class Mutations {
  readonly outbox: WriterOutbox
  readonly acknowledgements: Acknowledgements
  readonly transactions: StoredTransactions
  readonly #options: MutationsOptions
  readonly #outbox: Outbox
  readonly #log: OutboxLog
  readonly #maker: TransactionMaker
  readonly #rejected: RejectedTransactions
  readonly #scheduler: Schedule<void>
  readonly #history: UndoStack
  readonly #others: Timer

  constructor(options: MutationsOptions) {
    const { environment, disk, replica, use, reporter, listener } = options
    this.#options = options
    const outbox = new Outbox(options.onListenerError)
    this.#outbox = outbox
    this.#others = new Timer(environment.clock, () => this.transactions.readOthers().catch(() => {}))
    this.#log = new OutboxLog(async (change) => {
      await disk.open()
      return disk.outbox.write(change)
    })
    const shared = {
      ...options,
      optimisticUpdates: new OptimisticUpdates({ ...options, outbox }),
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
    this.transactions = new StoredTransactions({
      ...shared,
      rollback,
      host: maker,
      take: (record) => this.acknowledgements.take(record),
    })
    this.acknowledgements = new Acknowledgements({ ...shared, rollback, transactions: this.transactions })
    const sender = new Sender({
      ...shared,
      review: (transaction) => maker.review(transaction),
      callerCheck: options.credentials.callerCheck,
      listener: this.acknowledgements,
    })
    this.#scheduler = new Schedule<void>({
      environment,
      run: async (signal) => {
        await this.transactions.open()
        // Older ones go first. Where this fails, those that are here are safer at the server all the same.
        await this.transactions.readOthers().catch(() => {})
        signal.throwIfAborted()
        this.acknowledgements.awaitTruth()
        if (options.isReached()) await sender.flush(signal)
        else if (outbox.pending > 0) listener.unreached()
      },
      proves: () => true,
      // Whether somebody else is signed in, the data is told as well, and by that it goes on or pauses.
      floorMs: (error) => (isPause(error) ? pauseMs : error.code === 'other_user' ? 0 : undefined),
      onFailure: (error) => {
        if (!isAnswered(error)) listener.unreached()
        const isOutdated = error.code === 'discontinuous'
        // At first the data may merely lag behind a reset, which says by itself what happened.
        if (!isOutdated || this.#scheduler.failures > 1) reporter.failure(error)
        // A delta is refused, too, where these credentials have ended: then all of syncing pauses, and the status says so.
        if (isOutdated || isSyncError(error, 'UnauthenticatedError')) listener.missing()
      },
      onChange: () => listener.changed(),
    })
    this.#history = new UndoStack(maker)
    this.outbox = {
      list: ({ state } = {}) => outbox.list().filter((one) => state === undefined || one.state === state),
      get: (id) => outbox.get(id),
      subscribe: (told) => outbox.subscribe(told),
      retry: (id, edit) => this.#rejected.retry(id, edit),
      discard: (id) => this.#rejected.discard(id),
      export: () => this.transactions.export(),
    }
  }

  /** What the connection tells is not told twice. */
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

  /** Whether nothing is sent until something else has changed. */
  get #isHeld(): boolean {
    const { failure } = this.#scheduler
    return (
      isPause(failure) ||
      isSyncError(failure, 'UnauthenticatedError') ||
      isSyncError(failure, 'ConfigurationError')
    )
  }

  /** Tells what may let it send, or send again. */
  tell(type: 'start' | 'want' | 'hurry' | 'resume' | 'renew'): void {
    // What one caller may not write, another may.
    this.#scheduler.tell(type === 'renew' && isPause(this.#scheduler.failure) ? 'resume' : type)
  }

  /** Sends no more. Resolves once nothing is under way. */
  async stop(): Promise<void> {
    // One that is closed can undo nothing.
    if (this.#options.isClosed()) this.#outbox.tell()
    await this.#scheduler.stop()
    // What was under way may have had something to wait for. Where it was started again, that goes on.
    if (this.#scheduler.phase !== 'halted') return
    this.acknowledgements.stop()
    this.#others.clear()
  }

  /** Resolves once what was to be stored is, or cannot be. */
  async settled(): Promise<void> {
    await this.#log.settled()
  }

  /** What is not stored yet is stored; then nobody is left waiting. To be called once the disk is sealed. */
  async close(): Promise<void> {
    await this.transactions.settled()
    this.transactions.storeAgain()
    while (await this.#log.settled()) {
      // What has ended led to more.
    }
    for (const transaction of this.#outbox.list()) transaction.close()
  }

  /** Throws a ConfigurationError where the client cannot write, and what `body` throws; nothing has changed then. */
  mutate(body: (mutator: Mutator) => unknown, options: MutateOptions): Transaction {
    this.#maker.refuseClosed()
    if (!this.#options.canWrite) throw new ConfigurationError('endpoints.txUrl', noTxUrl)
    const transaction = this.#maker.mutate(body, options)
    this.#history.note(transaction)
    return transaction
  }

  /** Whether there is something to undo. */
  get canUndo(): boolean {
    return !this.#options.isClosed() && this.#history.canUndo
  }

  /** Whether there is something to do again. */
  get canRedo(): boolean {
    return !this.#options.isClosed() && this.#history.canRedo
  }

  /** Undoes the last step. Resolves with whether there was one. */
  undo(): Promise<boolean> {
    return this.#history.undo()
  }

  /** Does the step again that was undone last. Resolves with whether there was one. */
  redo(): Promise<boolean> {
    return this.#history.redo()
  }

  /** What the parts tell each other, and the session. */
  #listener(): RollbackListener & RejectedTransactionsListener & AcknowledgementsListener {
    const { listener } = this.#options
    return {
      ...listener,
      counted: () => {
        this.#outbox.tell()
        listener.changed()
      },
      queued: () => this.#scheduler.tell('want'),
      others: () => this.#others.within(othersMs),
      stands: (transaction, lost) => {
        this.#history.replace(lost, transaction)
        this.#rejected.stands(transaction)
      },
      judged: (transaction) => this.#rejected.settle(transaction),
      retried: (rejected, transaction) => this.#history.replace(rejected, transaction),
    }
  }
}
