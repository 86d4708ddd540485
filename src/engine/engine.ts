import { Commit } from '../base/commit.ts'
import { Emitter, type Unsubscribe } from '../base/emitter.ts'
import type { LifecycleEvent } from '../base/environment.ts'
import { type ClosedError, isSyncError, SyncError } from '../base/errors.ts'
import { lazyTypes } from '../models/models.ts'
import { Mutations } from '../mutations/mutations.ts'
import { isAnswered } from '../network/failure.ts'
import { Schedule } from '../network/schedule.ts'
import type { SnapshotProgress } from '../network/transport.ts'
import { Disk, type DiskListener } from '../persistence/disk.ts'
import type { Replica } from '../records/replica.ts'
import { Leadership } from '../tabs/leadership.ts'
import { connectionStatus, dataStatus, type Facts, followedStatus } from './derived-status.ts'
import type { EngineOptions } from './engine-options.ts'
import type { SyncEvents } from './events.ts'
import { Fetcher } from './fetcher.ts'
import { Following } from './following.ts'
import { type CopyListener, LocalCopy } from './local-copy.ts'
import { type LogoutOptions, type LogoutResult, logout } from './logout.ts'
import { ModelCheck } from './model-check.ts'
import { OriginStorage } from './origin-storage.ts'
import { PollSchedule } from './poll-schedule.ts'
import { Realtime } from './realtime.ts'
import { Refresh } from './refresh.ts'
import { Reporter } from './reporter.ts'
import { endOf, type Status } from './status.ts'
import { StatusBoard } from './status-board.ts'
import type { SyncResult } from './sync-result.ts'

/**
 * Keeps the local copy in step with the server. The engine connects its parts and derives the status from their states.
 * Each part has references only to parts that are created before it; all other calls between parts go through the
 * engine.
 */
export class Engine {
  readonly events: Emitter<SyncEvents>
  readonly mutations: Mutations
  readonly #options: EngineOptions
  readonly #board: StatusBoard
  readonly #commit = new Commit({
    update: () => this.#update(),
    notify: () => this.#notify(),
    onLoop: () => {
      const message = 'Listeners changed data or status 100 times in a row.'
      const error = new SyncError('SyncError', 'listener_loop', message)
      this.#options.logger.warn(message, { error })
      this.events.emit('error', error)
    },
  })
  /** Events to be emitted with the next commit, after changes of data and status. */
  #events: (() => void)[] = []
  readonly #disk: Disk
  readonly #leadership: Leadership
  readonly #copy: LocalCopy
  readonly #fetcher: Fetcher
  readonly #following: Following
  readonly #realtime: Realtime
  readonly #scheduler: Schedule<SyncResult>
  readonly #pollSchedule: PollSchedule
  readonly #reporter: Reporter
  readonly #refresh: Refresh
  readonly #originStorage: OriginStorage
  readonly #modelCheck: ModelCheck
  #closing: Promise<void> | undefined
  #unsubscribe: Unsubscribe = () => {}
  #inStepAt: number | undefined
  #fetched = false
  #isRefused = false
  #lifecycle: Status['lifecycle'] = 'idle'
  /**
   * Whether the server is reachable: `true` after an answer, `false` after a failure without an answer or an `offline`
   * event. `undefined` until the first of these since `start`.
   */
  #isReached: boolean | undefined
  #progress: SnapshotProgress | undefined

  constructor(options: EngineOptions) {
    const { environment, logger, transport, createSocket, openDatabase, replica, models, pollInterval } =
      options
    const { clock } = environment
    const { onListenerError } = replica
    this.#options = options
    this.events = new Emitter(onListenerError)
    this.#board = new StatusBoard(this.events)
    const emit = <Name extends keyof SyncEvents>(name: Name, event: SyncEvents[Name]) =>
      this.#later(() => this.events.emit(name, event))
    const reporter = new Reporter({
      logger,
      emit,
      onRefused: (error) => void this.#refresh.run(error),
    })
    this.#reporter = reporter
    this.#refresh = new Refresh({
      ...options,
      resume: (token) => {
        if (this.#ended) return
        if (token !== undefined) this.#following.resume(token)
        this.#resume('renew', token)
      },
      onError: (error) => reporter.error(error),
      onChange: () => this.#commit.mark(),
    })
    this.#originStorage = new OriginStorage({
      environment,
      name: options.channelName,
      onChange: () => this.#commit.mark(),
    })
    const listener = this.#dataListener()
    this.#modelCheck = new ModelCheck({ models, replica, clock, reporter })
    const disk = new Disk({ openDatabase, clock, listener })
    this.#disk = disk
    this.#leadership = new Leadership({ ...options, disk })
    this.mutations = new Mutations({
      ...options,
      disk,
      position: () => this.#copy.position,
      use: (t) => this.use(t),
      isReached: () => this.#isReached,
      hasWas: () => this.#realtime.hasWas,
      hears: () => this.#following.hears,
      follows: () => this.#following.leader !== undefined || this.#leadership.isOutdated,
      ended: () => this.#ended,
      reporter,
      commit: this.#commit,
      onListenerError,
      listener: {
        rejected: (transaction) =>
          this.#later(() => {
            // An earlier listener may have decided already.
            if (transaction.state === 'rejected') this.events.emit('rejected', transaction)
          }),
        // The server has just answered: end a wait after a NetworkError, but not a wait that the server asked for.
        missing: () =>
          this.#scheduler.tell(isSyncError(this.#scheduler.failure, 'NetworkError') ? 'hurry' : 'want'),
        stored: (news) => this.#following.tellOutbox(news),
        unreached: () => {
          this.#isReached = false
          if (this.#scheduler.phase !== 'fetching') this.#scheduler.tell('want')
        },
      },
    })
    this.#copy = new LocalCopy({
      disk,
      replica,
      lazy: lazyTypes(models),
      clock,
      debug: logger.debug,
      acknowledgements: this.mutations.acknowledgements,
      callerCheck: options.credentials.callerCheck,
      listener,
    })
    this.#fetcher = new Fetcher({
      transport,
      copy: this.#copy,
      clock,
      modelCheck: this.#modelCheck,
      reporter,
      listener: {
        progress: (progress) => {
          this.#progress = progress
          if (!this.#isReached) this.#reach()
          this.#commit.mark()
        },
        reset: (event) => {
          // The snapshot of a repair may end below the previous position: fetch the changes since then.
          if (event.reason === 'repair') this.#scheduler.tell('want')
          // The socket, and what it has brought, belong to the previous history.
          else this.#realtime.socket.renew()
          emit('reset', event)
        },
      },
    })
    this.#realtime = new Realtime({
      copy: this.#copy,
      fetcher: this.#fetcher,
      createSocket,
      debug: logger.debug,
      reporter,
      listener: {
        missing: (urgency) => this.#pollSchedule.missing(urgency),
        heard: () => this.#heard(),
      },
    })
    this.#following = new Following({
      ...options,
      disk,
      copy: this.#copy,
      version: models.version,
      debug: logger.debug,
      reporter,
      isRunning: () => this.#lifecycle === 'running',
      status: () => this.status,
      listener: {
        missing: (urgency) => this.#pollSchedule.missing(urgency),
        heard: () => {
          this.#pollSchedule.heard()
          this.#commit.mark()
        },
        followed: () => this.#followed(),
        overtaken: () => this.#leadership.overtaken(),
        silent: () => this.#leadership.lead(),
        outbox: (news) => this.mutations.heard(news),
        outboxUnknown: () => this.mutations.readAgain(),
        sync: () => this.sync(),
        resume: (token) => this.#continue(token),
        outdated: (version) => {
          if (this.#leadership.outdated()) emit('outdated', { version })
        },
        signedOut: () => void this.#signedOut(),
      },
    })
    this.#scheduler = new Schedule({
      environment,
      name: 'fetch',
      debug: logger.debug,
      run: (signal, asked) => this.#fetch(signal, asked),
      // Only a delta proves that client and server agree, unless the server has no position yet.
      proves: ({ kind, sid }) => kind === 'delta' || sid <= 0,
      onFailure: (error) => this.#fail(error),
      onChange: () => this.#commit.mark(),
    })
    this.#pollSchedule = new PollSchedule({
      clock,
      pollInterval,
      realtime: () => this.#source,
      fetch: (type) => this.#scheduler.tell(type),
    })
  }

  get replica(): Replica {
    return this.#options.replica
  }

  get status(): Status {
    return this.#board.status
  }

  /** Restores the stored data and starts syncing. Never waits for the network. */
  async start(): Promise<void> {
    this.#refuseClosed()
    if (this.#lifecycle !== 'running') this.#run()
    await this.#disk.open()
  }

  /** Stops syncing. Resolves once no request is running. The data stays readable. */
  async stop(): Promise<void> {
    this.#refuseClosed()
    await this.#halt(this.#lifecycle === 'running' ? 'stopped' : this.#lifecycle)
    this.#leadership.stop()
  }

  /** Fetches one bootstrap or delta. Calls that overlap share one fetch. */
  async sync(): Promise<SyncResult> {
    this.#refuseClosed()
    if (this.#following.leader) await this.#following.sync()
    const asked = this.#scheduler.ask()
    this.#commit.now()
    const result = await asked
    await this.#disk.stored()
    return result
  }

  /** Marks the type `t` as used. A lazy type that is still on disk starts to load. */
  use(t: string): void {
    this.#copy.use(t)
  }

  /** Ends the pause after a 401, with `token` or with the current result of the token function. */
  resume(token?: string): void {
    this.#refuseClosed()
    this.#following.resume(token)
    this.#continue(token)
    this.#commit.now()
  }

  /** Asks the browser to keep the stored data. Resolves with whether it does. */
  async requestPersistence(): Promise<boolean> {
    this.#refuseClosed()
    return this.#originStorage.requestPersistence()
  }

  /** See `SyncClient.logout`. */
  async logout(options: LogoutOptions): Promise<LogoutResult> {
    this.#refuseClosed()
    const { environment, channelName, destroyDatabase, newLife } = this.#options
    const { clock, BroadcastChannel } = environment
    const destroy = channelName !== undefined && !BroadcastChannel ? undefined : destroyDatabase
    const sync = () => this.sync()
    const end = async () => {
      const silentTabs = this.#following.signOut()
      await this.#signedOut(true)
      return silentTabs
    }
    const status = () => this.status
    const { mutations } = this
    return logout({ clock, newLife, disk: this.#disk, mutations, status, sync, end, destroy }, options)
  }

  /** Ends the engine for good. Resolves when all pending data and writes are stored. */
  close(): Promise<void> {
    this.#closing ??= this.#end('closed', async () => {
      this.#following.close()
      await this.#store()
      await this.mutations.close()
    })
    return this.#closing
  }

  /** The user has signed out: ends the engine, and shows nothing any more. `isHere`: by a call of `logout`. */
  #signedOut(isHere = false): Promise<void> {
    this.#closing ??= (async () => {
      // The calls below may report the sign-out again: let `#closing` be set before.
      await undefined
      this.#leadership.close()
      this.#disk.follow()
      this.#copy.empty(this.mutations.outbox.list().map(({ id }) => id))
      await this.#end('signed-out', async () => {
        await this.#store()
        await this.mutations.end(isHere)
      })
      await this.#following.ending
      this.#following.close()
    })()
    return this.#closing
  }

  /** Resolves once what was written before is stored. Opens the disk no more. */
  async #store(): Promise<void> {
    // Transactions that are not stored yet may have to open the disk first.
    await this.mutations.settled()
    await this.#disk.seal()
  }

  /** `settle`: settles all transactions. */
  async #end(lifecycle: 'closed' | 'signed-out', settle: () => Promise<void>): Promise<void> {
    this.#modelCheck.stop()
    await this.#halt(lifecycle)
    await settle()
    await this.#copy.close()
    await this.#disk.close()
    this.#leadership.close()
    this.#commit.now()
    this.#originStorage.close()
    this.events.clear()
  }

  #run(): void {
    this.#options.credentials.forget()
    this.#fetched = false
    this.#lifecycle = 'running'
    this.#unsubscribe = this.#options.environment.lifecycle.subscribe((event) => this.#onLifecycle(event))
    this.#leadership.start()
    if (this.#disk.isOpen) this.#following.begin()
    this.#pollSchedule.start()
    this.#notifySchedules('start')
    this.#commit.now()
  }

  async #halt(lifecycle: Status['lifecycle']): Promise<void> {
    this.#lifecycle = lifecycle
    this.#unsubscribe()
    this.#following.leave()
    this.#pollSchedule.stop()
    this.#progress = undefined
    const halted = this.#stopSchedules()
    this.#commit.now()
    await halted
    await this.#disk.settled()
  }

  async #fetch(signal: AbortSignal, asked: boolean): Promise<SyncResult> {
    await this.#disk.ready()
    signal.throwIfAborted()
    const suspicious = this.#pollSchedule.began()
    this.#source.began()
    if (this.#following.leader) {
      const read = await this.#following.fetch()
      signal.throwIfAborted()
      if (read) {
        if (suspicious && read.changes > 0) this.#following.feed.socket.renew()
        this.#pollSchedule.fetched(Boolean(this.#copy.position?.unconfirmed.length))
        return read
      }
    }
    const result = await this.#fetcher.fetch(signal, asked).finally(() => {
      this.#progress = undefined
    })
    if (signal.aborted) return result
    this.#reach()
    this.#fetched = true
    this.#inStepAt = this.#options.environment.clock.now()
    if (suspicious && result.changes > 0) this.#realtime.socket.renew()
    this.#realtime.fetched(result.kind)
    this.#pollSchedule.fetched(Boolean(this.#copy.position?.unconfirmed.length))
    return result
  }

  /** The server has answered: let waiting transactions be sent. */
  #reach(): void {
    const wasReached = this.#isReached
    this.#isReached = true
    const hadFailed = this.#scheduler.failure !== undefined
    if (hadFailed || !wasReached) this.mutations.reached(hadFailed)
  }

  #fail(error: SyncError): void {
    if (!isAnswered(error)) this.#isReached = false
    else if (!this.#isReached) this.#reach()
    this.#realtime.failed()
    this.#reporter.failure(error)
  }

  #heard(): void {
    this.#pollSchedule.heard()
    if (this.#realtime.state === 'live') this.#inStepAt = this.#options.environment.clock.now()
    this.#commit.mark()
  }

  #onLifecycle(event: LifecycleEvent): void {
    if (event === 'offline') this.#isReached = false
    this.#leadership.onLifecycle(event)
    if (event === 'frozen') {
      this.#following.close()
      void this.#stopSchedules()
    }
    if (event === 'visible') void this.#originStorage.read()
    if (event === 'resumed') {
      this.#following.begin()
      this.#notifySchedules('start')
    }
    if (event === 'online' || event === 'visible') this.#notifySchedules('hurry')
    this.#commit.now()
  }

  #continue(token: string | undefined): void {
    this.#options.credentials.forget()
    this.#resume('resume', token)
  }

  #resume(type: 'resume' | 'renew', token: string | undefined): void {
    if (token !== undefined) this.#options.credentials.use(token)
    this.#notifySchedules(type)
  }

  /** Stops fetching and sending. Resolves once no request is running. */
  async #stopSchedules(): Promise<void> {
    // Nothing is sent before the server has answered again.
    this.#isReached = undefined
    await Promise.all([this.#scheduler.stop(), this.mutations.stop()])
  }

  /** Passes `type` to the schedules of fetching and of sending. */
  #notifySchedules(type: 'start' | 'want' | 'hurry' | 'resume' | 'renew'): void {
    this.#scheduler.tell(type)
    this.mutations.tell(type)
  }

  #dataListener(): DiskListener & CopyListener {
    return {
      opening: () => this.#leadership.begin(),
      leads: async () => {
        await this.#copy.lead()
        this.#following.begin()
        this.mutations.acknowledgements.leaveAgain()
      },
      fenced: () => this.#leadership.fenced(),
      signedOut: () => void this.#signedOut(),
      diverged: () => this.#scheduler.tell('want'),
      opened: async () => {
        this.#originStorage.opened(this.#disk.term === 1)
        await this.mutations.transactions.opened()
        await this.#copy.restore()
        this.#following.begin()
      },
      reopened: () => {
        this.mutations.transactions.reopened()
        this.#copy.checkStored()
        this.#following.begin()
      },
      removed: (ids) => {
        this.mutations.acknowledgements.removed(ids)
        this.#following.tellOutbox({ records: [], gone: [], removed: ids })
      },
      storeAgain: () => {
        this.mutations.transactions.storeAgain()
        this.mutations.acknowledgements.leaveAgain()
      },
      lost: () => {
        if (!this.#copy.position) return
        this.#fetcher.refill()
        this.#scheduler.tell('want')
      },
      storage: (storage, error) => {
        if (error) this.#options.logger.warn(error.message, { error })
        // Tabs that found nothing to read sync for themselves until they hear that there is.
        const isWell = !error && this.status.storage.reason !== undefined
        this.#board.update({ storage: { ...storage, ...this.#originStorage.status } })
        if (isWell) void this.#following.announce()
        if (isWell || error) void this.#originStorage.read()
        this.#commit.mark()
      },
      // The time that listeners take counts as the time of showing a part.
      shownInPart: () => this.#commit.now(),
      replaced: (types) => {
        this.#commit.mark()
        // The leader checks the data that all tabs have.
        if (!types) void this.#originStorage.read()
        if (this.#following.leader) return
        void this.#modelCheck.replaced(types)
        if (!types) void this.#following.announce()
      },
      applied: (delta) => this.#following.forward(delta),
      restored: (repair) => this.#fetcher.restored(repair),
      missing: (ops) => {
        if (this.#fetcher.missing(ops)) this.#scheduler.tell('want')
      },
    }
  }

  /** The source of changes: the server's socket, or the leader. */
  get #source(): Realtime {
    return this.#following.leader ? this.#following.feed : this.#realtime
  }

  /** Following has begun or ended, or the leader's status has changed. */
  #followed(): void {
    const { leader } = this.#following
    const { phase } = this.#scheduler
    if (leader) {
      const { state } = leader.connection
      this.#isReached = state === 'offline' ? false : state === 'socket' || state === 'polling' || undefined
      // To read the disk takes neither the server nor credentials.
      if (phase === 'paused' || phase === 'waiting') this.#notifySchedules('resume')
    } else this.#notifySchedules('want')
    this.#commit.mark()
  }

  /** Runs `emit` with the next commit, after changes of data and status were emitted. */
  #later(emit: () => void): void {
    this.#events.push(emit)
    this.#commit.mark()
  }

  #notify(): void {
    this.replica.notify()
    const change = this.replica.takeChange()
    if (change) this.events.emit('change', { ...change, lastSyncId: this.status.lastSyncId })
    this.#board.notify()
    this.mutations.notify()
    for (const emit of this.#events.splice(0)) emit()
  }

  /** Starts or stops the socket as the state of fetching requires, and updates the status. */
  #update(): void {
    const { phase, failure, retryAt } = this.#scheduler
    const { socket } = this.#realtime
    const isWanted = phase !== 'halted' && phase !== 'asked'
    if (!failure) this.#isRefused = false
    else if (isSyncError(failure, 'UnauthenticatedError')) this.#isRefused = true
    // After a 401, only HTTP requests try the next credentials: they wait between tries, and a socket would not.
    const { leader } = this.#following
    if (isWanted && !this.#isRefused && !leader) socket.start()
    else this.#realtime.stop()
    const { state } = this.#realtime
    const facts: Facts = {
      phase,
      failure,
      isRefreshing: this.#refresh.isRunning,
      retryAt,
      socket: socket.state,
      realtime: state,
      online: this.#options.environment.lifecycle.online(),
      hasData: this.replica.isReady() && this.#lifecycle !== 'signed-out',
      progress: this.#progress,
      inStepAt: this.#inStepAt ?? this.#copy.placedAt,
      fetched: this.#fetched,
    }
    const connection = isWanted && leader ? leader.connection : connectionStatus(facts)
    const isLive = this.#following.feed.state === 'live'
    const writes = this.mutations.status(connection)
    // Only the leader knows of the transactions of all tabs at once.
    const isKnown = this.#disk.term !== undefined
    this.#originStorage.note(this.#lifecycle === 'signed-out' ? 0 : isKnown ? writes.pending : undefined)
    this.#board.update({
      lifecycle: this.#lifecycle,
      role: this.#disk.leads ? 'leader' : 'follower',
      connection,
      data: leader ? followedStatus(facts, leader.data, isLive) : dataStatus(facts, connection),
      writes: { ...writes, ...(leader?.paused && { paused: leader.paused }) },
      storage: { ...this.#disk.status, ...this.#originStorage.status },
      lastSyncId: this.#copy.position?.shown ?? 0,
    })
    this.#following.tellStatus()
  }

  get #ended(): ClosedError | undefined {
    return endOf({ lifecycle: this.#lifecycle })
  }

  #refuseClosed(): void {
    const ended = this.#ended
    if (ended) throw ended
  }
}
