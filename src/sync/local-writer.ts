import { Alarm } from '../base/alarm.ts'
import { ConfigurationError, isSyncError, type RejectedError } from '../base/errors.ts'
import { createIds } from '../base/ids.ts'
import type { World } from '../base/world.ts'
import type { Models } from '../models/models.ts'
import type { Mutator } from '../outbox/draft.ts'
import { History } from '../outbox/history.ts'
import { Outbox } from '../outbox/outbox.ts'
import { OutboxLog } from '../outbox/outbox-log.ts'
import type { LocalTransaction, Transaction } from '../outbox/transaction.ts'
import type { TxCodec } from '../protocol/tx.ts'
import type { Replica } from '../replica/replica.ts'
import type { Status } from '../session/status.ts'
import type { Merge, MutateOptions, Writer, WriterOutbox } from '../session/writer.ts'
import { noTxUrl } from '../transport/http.ts'
import type { Transport } from '../transport/transport.ts'
import { Inbox } from './inbox.ts'
import type { LocalCopy } from './local-copy.ts'
import type { Reporter } from './reporter.ts'
import { rowsToWrite } from './rows-to-write.ts'
import { Scheduler } from './scheduler.ts'
import { isPause, Sender } from './sender.ts'
import { Settlement } from './settlement.ts'
import { Standing, type StandingListener } from './standing.ts'
import { StoredTransactions } from './stored-transactions.ts'
import { Writes } from './writes.ts'

/** A server that takes no transactions is asked again after this. */
const pauseMs = 300_000

export interface LocalWriterOptions {
  readonly world: Pick<World, 'clock' | 'random'>
  readonly transport: Transport
  readonly codec: TxCodec
  /** Whether there is somewhere to send transactions. */
  readonly canWrite: boolean
  readonly replica: Replica
  readonly models: Models
  readonly merge: Merge | undefined
  /** How long the data may take to show what was accepted, before it is fetched, in ms. */
  readonly echoWait: number
  readonly copy: () => LocalCopy
  /** Whether it is over: what is asked of it then is refused. */
  readonly isClosed: () => boolean
  readonly reporter: Pick<Reporter, 'error' | 'failure'>
  readonly onListenerError: (error: unknown) => void
  readonly listener: LocalWriterListener
}

export type LocalWriterListener = Pick<StandingListener, 'change'> & {
  /** A transaction waits for somebody to decide. */
  rejected(transaction: Transaction): void
  /** `status` may be another. */
  changed(): void
  /** The data does not show yet what was said here: by what the server judged, which history it has, or who may ask. */
  missing(): void
}

/** The writing half of a session: it joins the parts that make, keep, send and settle transactions. */
export class LocalWriter implements Writer {
  readonly outbox: WriterOutbox
  readonly settlement: Settlement
  readonly transactions: StoredTransactions
  readonly #options: LocalWriterOptions
  readonly #outbox: Outbox
  readonly #log: OutboxLog
  readonly #standing: Standing
  readonly #writes: Writes
  readonly #inbox: Inbox
  readonly #scheduler: Scheduler<void>
  readonly #history: History
  readonly #echo: Alarm

  constructor(options: LocalWriterOptions) {
    const { world, transport, codec, replica, models, merge, copy, reporter, onListenerError, listener } =
      options
    this.#options = options
    const outbox = new Outbox(onListenerError)
    this.#outbox = outbox
    this.#log = new OutboxLog(async (change) => {
      await copy().open()
      return copy().disk.writeOutbox(change)
    })
    const ids = createIds(world.clock, world.random)
    const told: StandingListener = {
      change: (records, apply) => listener.change(records, apply),
      counted: () => {
        outbox.tell()
        listener.changed()
      },
      queued: () => this.#scheduler.tell({ type: 'want' }),
      stands: (transaction, lost) => this.#history.stands(transaction, lost),
      judged: (transaction) => this.#inbox.settle(transaction),
    }
    const standing = new Standing({ outbox, log: this.#log, replica, reporter, listener: told })
    this.#standing = standing
    this.#writes = new Writes({
      clock: world.clock,
      ids,
      outbox,
      log: this.#log,
      standing,
      replica,
      rows: rowsToWrite(copy),
      models,
      position: () => copy().continuity?.proven ?? 0,
      isClosed: options.isClosed,
      onListenerError,
      listener: told,
    })
    this.#inbox = new Inbox({
      outbox,
      writes: this.#writes,
      standing,
      merge,
      reporter,
      listener: {
        rejected: (transaction) => listener.rejected(transaction),
        retried: (rejected, transaction) => this.#history.replace(rejected, transaction),
      },
    })
    this.settlement = new Settlement({ outbox, log: this.#log, standing, listener: told })
    this.transactions = new StoredTransactions({
      copy,
      outbox,
      log: this.#log,
      host: this.#writes,
      standing,
      models,
      follow: (id) => ids.follow(id),
      reporter,
      listener: told,
    })
    const sender = new Sender({
      transport,
      codec,
      outbox,
      epoch: () => copy().continuity?.epoch,
      listener: {
        outdated: () => listener.missing(),
        // A restart knows by it which ones nobody else has. Where it fails, they are safer at the server all the same.
        sending: async (transactions) => {
          const send = transactions.map(({ record }) => record)
          const cancelled = new Set(await this.#log.change({ send }).catch((): string[] => []))
          for (const one of transactions) if (cancelled.has(one.id)) this.#standing.withdraw(one)
        },
        accepted: (transaction, sid) => this.#accepted(transaction, sid),
        rejected: (transaction, error, sid) => this.#rejected(transaction, error, sid),
      },
    })
    this.#scheduler = new Scheduler<void>({
      world,
      run: async (signal) => {
        await this.transactions.open()
        // Older ones go first. Where this fails, those that are here are safer at the server all the same.
        await this.transactions.readOthers().catch(() => {})
        await sender.flush(signal)
      },
      proves: () => true,
      floorMs: (error) => (isPause(error) ? pauseMs : undefined),
      onFailure: (error) => {
        reporter.failure(error)
        // A delta is refused, too, where these credentials have ended: then all of syncing pauses, and the status says so.
        if (isSyncError(error, 'UnauthenticatedError')) listener.missing()
      },
      onChange: () => listener.changed(),
    })
    this.#history = new History({
      rehearse: (undone) => this.#writes.rehearse(undone),
      again: (cancelled) => this.#writes.again(cancelled),
      changed: () => outbox.tell(),
    })
    this.#echo = new Alarm(world.clock, () => listener.missing())
    this.outbox = {
      list: ({ state } = {}) => outbox.list().filter((one) => state === undefined || one.state === state),
      get: (id) => outbox.get(id),
      subscribe: (told) => outbox.subscribe(told),
      retry: (id, edit) => this.#inbox.retry(id, edit),
      discard: (id) => this.#inbox.discard(id),
      export: () => this.transactions.export(),
    }
  }

  get status(): Status['writes'] {
    const { pending, rejected } = this.#outbox
    const { failure } = this.#scheduler
    const isHeld = isPause(failure) || isSyncError(failure, 'UnauthenticatedError')
    return { pending, rejected, ...(failure && isHeld ? { paused: failure.message } : undefined) }
  }

  /** Tells what may let it send, or send again. */
  tell(event: { readonly type: 'start' | 'hurry' | 'resume' }): void {
    this.#scheduler.tell(event)
  }

  /** Sends no more. Resolves once nothing is under way. */
  async stop(): Promise<void> {
    this.#echo.clear()
    // One that is closed can undo nothing.
    if (this.#options.isClosed()) this.#outbox.tell()
    await this.#scheduler.stop()
  }

  /** What is not stored yet is stored; then nobody is left waiting. */
  async close(): Promise<void> {
    await this.#log.settled()
    await this.#options.copy().seal()
    await this.transactions.seal()
    for (const transaction of this.#outbox.list()) transaction.close()
  }

  mutate(body: (mutator: Mutator) => unknown, options: MutateOptions): Transaction {
    this.#writes.refuseClosed()
    if (!this.#options.canWrite) throw new ConfigurationError('endpoints.txUrl', noTxUrl)
    const transaction = this.#writes.mutate(body, options)
    this.#history.note(transaction, options.group)
    return transaction
  }

  get canUndo(): boolean {
    return !this.#options.isClosed() && this.#history.canUndo
  }

  get canRedo(): boolean {
    return !this.#options.isClosed() && this.#history.canRedo
  }

  undo(): Promise<boolean> {
    return this.#history.undo()
  }

  redo(): Promise<boolean> {
    return this.#history.redo()
  }

  #accepted(transaction: LocalTransaction, sid: number): void {
    if (!this.#outbox.accept(transaction, sid)) return
    // Where this fails, a restart sends it once more, and gets the same answer.
    this.#log.put(transaction.record).catch(() => {})
    this.#awaitEcho(transaction)
  }

  #awaitEcho(transaction: LocalTransaction): void {
    this.#options.copy().settle()
    if (transaction.state === 'accepted') this.#echo.within(this.#options.echoWait)
  }

  async #rejected(transaction: LocalTransaction, error: RejectedError, sid: number): Promise<void> {
    if (error.reason === 'id_reused' && (await this.#goesOnOtherwise(transaction, sid))) return
    this.#standing.reject(transaction, error, sid)
    // What was made after it, and waited for it, may be shown by now.
    this.#options.copy().settle()
    if (this.#outbox.isAwaitingTruth) this.#echo.within(this.#options.echoWait)
  }

  /**
   * Another version of the application may have sent it, before an update or beside this one: the verdict is on its shape.
   * Gives whether it goes on from there.
   */
  async #goesOnOtherwise(transaction: LocalTransaction, sid: number): Promise<boolean> {
    const stored = await this.transactions.find(transaction)
    if (stored === 'gone') {
      // That has seen its end, so the server has it since `sid` at the latest.
      if (this.#outbox.accept(transaction, sid)) this.#awaitEcho(transaction)
      return true
    }
    if (stored) transaction.learn(stored)
    return transaction.sendOtherwise()
  }
}
