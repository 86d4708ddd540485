import { Commit, type CommitOptions } from '../base/commit.ts'
import { Emitter } from '../base/emitter.ts'
import type { ClosedError, SyncError } from '../base/errors.ts'
import { lazyTypes } from '../models/models.ts'
import { Mutations, type MutationsListener } from '../mutations/mutations.ts'
import type { RealtimeSocket, RealtimeSocketListener } from '../network/realtime-socket.ts'
import { Schedule, type ScheduleSignal } from '../network/schedule.ts'
import { Disk, type DiskListener } from '../persistence/disk.ts'
import { Leadership } from '../tabs/leadership.ts'
import type { EngineOptions } from './engine-options.ts'
import { type EngineState, initialState } from './engine-state.ts'
import type { SyncEvents } from './events.ts'
import { Feed, type FeedListener } from './feed.ts'
import { Fetcher, type FetchListener } from './fetcher.ts'
import { Following, type FollowingListener } from './following.ts'
import { type CopyListener, LocalCopy } from './local-copy.ts'
import { ModelCheck } from './model-check.ts'
import { OriginStorage } from './origin-storage.ts'
import { PollSchedule } from './poll-schedule.ts'
import { Refresh } from './refresh.ts'
import { Reporter } from './reporter.ts'
import { endOf } from './status.ts'
import { StatusBoard } from './status-board.ts'
import type { SyncResult } from './sync-result.ts'

/** The handlers of the parts' events. */
export interface Handlers {
  readonly onDisk: (parts: Parts) => DiskListener
  readonly onData: (parts: Parts) => CopyListener
  readonly onWrites: (parts: Parts) => MutationsListener
  readonly onFetching: (parts: Parts) => FetchListener
  readonly onPush: (parts: Parts) => FeedListener
  readonly onSocket: (parts: Parts) => RealtimeSocketListener
  readonly onTabs: (parts: Parts) => FollowingListener
  readonly onCommit: (parts: Parts) => CommitOptions
  readonly fetchChanges: (parts: Parts, signal: AbortSignal, asked: boolean) => Promise<SyncResult>
  readonly onFailure: (parts: Parts, error: SyncError) => void
  readonly onRefreshed: (parts: Parts, token: string | undefined) => void
}

/**
 * Creates the parts of an engine. A part has references only to parts that are created before it, and reaches later
 * ones by functions. Each part reports its events to a handler, which may read and change all parts.
 */
export class Parts {
  readonly options: EngineOptions
  readonly state: EngineState = initialState()
  readonly events: Emitter<SyncEvents>
  readonly board: StatusBoard
  readonly commit: Commit
  readonly reporter: Reporter
  readonly refresh: Refresh
  readonly originStorage: OriginStorage
  readonly modelCheck: ModelCheck
  readonly disk: Disk
  readonly leadership: Leadership
  readonly mutations: Mutations
  readonly copy: LocalCopy
  readonly fetcher: Fetcher
  readonly feed: Feed
  readonly socket: RealtimeSocket
  readonly following: Following
  readonly schedule: Schedule<SyncResult>
  readonly polls: PollSchedule
  #waiting: (() => void)[] = []

  constructor(options: EngineOptions, handlers: Handlers) {
    const { environment, logger, transport, createSocket, replica, models } = options
    const { clock } = environment
    const { debug } = logger
    const { onListenerError } = replica
    const onChange = () => this.commit.mark()
    this.options = options
    this.events = new Emitter(onListenerError)
    this.board = new StatusBoard(this.events)
    this.commit = new Commit(handlers.onCommit(this))
    const reporter = new Reporter({
      logger,
      emit: (name, event) => this.later(() => this.events.emit(name, event)),
      onRefused: (error) => void this.refresh.run(error),
    })
    this.reporter = reporter
    this.refresh = new Refresh({
      ...options,
      resume: (token) => handlers.onRefreshed(this, token),
      onError: (error) => reporter.error(error),
      onChange,
    })
    this.originStorage = new OriginStorage({ ...options, onChange })
    this.modelCheck = new ModelCheck({ models, replica, clock, reporter })
    const disk = new Disk({ ...options.database, models, clock, listener: handlers.onDisk(this) })
    this.disk = disk
    this.leadership = new Leadership({ ...options, disk })
    this.mutations = new Mutations({
      ...options,
      disk,
      position: () => this.copy.position,
      use: (t) => this.copy.use(t),
      isReached: () => this.state.isReached,
      features: () => this.feed.features,
      hears: () => this.following.hears,
      follows: () => this.following.leader !== undefined || this.leadership.isOutdated,
      ended: () => this.ended,
      reporter,
      commit: this.commit,
      onListenerError,
      listener: handlers.onWrites(this),
    })
    const copy = new LocalCopy({
      disk,
      replica,
      lazy: lazyTypes(models),
      clock,
      debug,
      acknowledgements: this.mutations.acknowledgements,
      callerCheck: options.credentials.callerCheck,
      listener: handlers.onData(this),
    })
    this.copy = copy
    const { modelCheck } = this
    const fetcher = new Fetcher({
      transport,
      copy,
      clock,
      modelCheck,
      reporter,
      listener: handlers.onFetching(this),
    })
    this.fetcher = fetcher
    this.feed = new Feed({ copy, fetcher, reporter, debug, listener: handlers.onPush(this) })
    this.socket = createSocket(handlers.onSocket(this))
    this.following = new Following({
      ...options,
      disk,
      copy,
      feed: this.feed,
      version: models.version,
      isRunning: () => this.state.lifecycle === 'running',
      status: () => this.board.status,
      listener: handlers.onTabs(this),
    })
    this.schedule = new Schedule({
      environment,
      name: 'fetch',
      debug,
      run: (signal, asked) => handlers.fetchChanges(this, signal, asked),
      // Only a delta proves that client and server agree, unless the server has no position yet.
      proves: ({ kind, sid }) => kind === 'delta' || sid <= 0,
      onFailure: (error) => handlers.onFailure(this, error),
      onChange,
    })
    this.polls = new PollSchedule({
      ...options,
      clock,
      feed: this.feed,
      fetch: (type) => this.schedule.dispatch(type),
      onFutile: (error) => reporter.error(error),
    })
  }

  /** The error of calls after the engine has ended; `undefined` before. */
  get ended(): ClosedError | undefined {
    return endOf(this.state)
  }

  /** Passes `type` to the schedules of fetching and of sending. */
  dispatch(type: ScheduleSignal): void {
    this.schedule.dispatch(type)
    this.mutations.dispatch(type)
  }

  /** Fetches one bootstrap or delta. Resolves once it is stored. Calls that overlap share one fetch. */
  async sync(): Promise<SyncResult> {
    if (this.following.leader) await this.following.sync()
    const asked = this.schedule.ask()
    this.commit.now()
    const result = await asked
    await this.disk.stored()
    return result
  }

  /** Runs `emit` with the next commit, after changes of data and status were emitted. */
  later(emit: () => void): void {
    this.#waiting.push(emit)
    this.commit.mark()
  }

  /** Emits the events that `later` has queued. */
  emitWaiting(): void {
    for (const emit of this.#waiting.splice(0)) emit()
  }
}
