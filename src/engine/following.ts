import { Deferred } from '../base/deferred.ts'
import type { Environment } from '../base/environment.ts'
import { StorageError, type SyncError, toSyncError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import type { Disk } from '../persistence/disk.ts'
import type { OutboxNews } from '../persistence/outbox.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import { type Lead, TabChannel, type TabMessage } from '../tabs/channel.ts'
import type { Feed } from './feed.ts'
import {
  errorFrom,
  type LeaderStatus,
  type SharedStatus,
  shareError,
  shareStatus,
  statusFrom,
} from './leader-status.ts'
import type { LocalCopy } from './local-copy.ts'
import type { Status } from './status.ts'

/**
 * How often a visible tab that does not lead asks whether the leader is still there, in ms. After two questions without
 * an answer, it leads: within 5 s.
 */
const askEveryMs = 1_200

/** How often the leader looks for transactions of tabs that were killed before they sent a message, in ms. */
const lookEveryMs = 10_000

/** The maximum time that a tab waits for the others to leave when the user signs out in it, in ms. */
const answerMs = 1_000

/** The maximum number of frames of a delta that is sent to the other tabs. They read a larger one from the disk. */
const maxFrames = 200

export interface FollowingOptions {
  readonly environment: Pick<Environment, 'BroadcastChannel' | 'clock' | 'lifecycle' | 'random'>
  /** The name of the database. */
  readonly name: string
  readonly disk: Disk
  readonly copy: LocalCopy
  readonly feed: Feed
  /** The version of the application's models. */
  readonly version: number
  readonly isRunning: () => boolean
  readonly status: () => Status
  readonly listener: FollowingListener
}

export interface FollowingListener {
  /** Following has begun or ended, or the status of the leader has changed. */
  followed(): void
  /** Another tab has taken the lead from this one. */
  overtaken(): void
  /** The leader does not answer. */
  silent(): void
  /** Another tab has changed the stored transactions. */
  outbox(news: OutboxNews): void
  /** This tab may have missed changes of the stored transactions. */
  outboxUnknown(): void
  /** Another tab may have stored a new transaction, and been killed before it sent a message. */
  lookForNew(): void
  /** A follower asks for a fetch. Resolves once its result is stored. */
  sync(): Promise<unknown>
  /** Another tab continues after a 401. */
  resume(token: string | undefined): void
  /** Another tab runs newer code, with models of `version`. */
  outdated(version: number): void
  /** The user has signed out in another tab. */
  signedOut(): void
}

interface Leader {
  readonly id: string
  readonly term: number
  status: LeaderStatus
}

/**
 * Connects this tab with the others of the same database. For a follower, the leader replaces the socket as the source
 * of the feed, and the disk replaces the server as the source of fetches. A tab that hears no leader, or cannot read
 * what the leader stores, does not follow: it fetches from the server.
 */
export class Following {
  readonly #options: FollowingOptions
  readonly #channel: TabChannel<SharedStatus>
  readonly #asking: Timer
  #leader: Leader | undefined
  /** The highest term of a leader that this tab has heard of: see `Connection.term`. */
  #term = 0
  /** The term whose data this tab could not read. */
  #unreadable: number | undefined
  #unanswered = 0
  /** Whether to treat the next `lead` message as that of another leader, because messages before it may be lost. */
  #beginsAnew = false
  /** The status that was last sent to the followers. */
  #postedStatus: Status | undefined
  readonly #syncs = new Map<number, (error: SyncError | undefined) => void>()
  #count = 0
  #answers: Promise<number> | undefined
  #onLeft: () => unknown = () => {}
  /** Called when the leader has said where it is. */
  #onLeader = () => {}

  constructor(options: FollowingOptions) {
    const { environment, name, version, listener } = options
    const { BroadcastChannel, clock, random } = environment
    this.#options = options
    this.#channel = new TabChannel({
      BroadcastChannel,
      name,
      random,
      version,
      onMessage: (...heard) => this.#hear(...heard),
      onNewer: (newer) => listener.outdated(newer),
      onLoss: (from) => {
        listener.outboxUnknown()
        // The answer has the leader's position.
        if (from === this.#leader?.id) this.#channel.post({ type: 'ask' })
      },
    })
    this.#asking = new Timer(clock, () => this.#askAgain())
  }

  /** The status of the leader that this tab follows; `undefined` if it follows none. */
  get leader(): LeaderStatus | undefined {
    return this.#leader?.status
  }

  /** Whether this tab receives the messages of other tabs. */
  get hears(): boolean {
    return this.#channel.isOpen
  }

  /** Call when the database is open, when this tab has taken or lost the lead, and when its page is back. */
  begin(): void {
    const { disk, isRunning, listener } = this.#options
    if (!isRunning() || !disk.isOpen) return
    this.#unreadable = undefined
    this.#channel.open(disk.life)
    listener.outboxUnknown()
    if (disk.leads) {
      this.leave()
      void this.announce()
    }
    this.ask()
  }

  /**
   * Call when the client is closed, and when the page goes into the back/forward cache: an open channel would keep it
   * out.
   */
  close(): void {
    this.leave()
    this.#channel.post({ type: 'left' })
    this.#channel.close()
  }

  /**
   * Notifies the other tabs that the user has signed out. Resolves when all of them have left, or after `answerMs`,
   * with the number of tabs that have not left.
   */
  announceSignOut(): Promise<number> {
    const { environment, disk } = this.#options
    this.#channel.open(disk.life)
    this.#channel.post({ type: 'sign-out' })
    const answered = new Deferred<void>()
    const cancel = environment.clock.after(answerMs, () => answered.resolve())
    this.#onLeft = () => this.#channel.peers === 0 && answered.resolve()
    this.#onLeft()
    this.#answers = answered.promise.then(() => {
      cancel()
      return this.#channel.peers
    })
    return this.#answers
  }

  /** Resolves once the answers to `announceSignOut` have come. */
  get signOutAnswers(): Promise<unknown> | undefined {
    return this.#answers
  }

  /** Sends the other tabs the position of this tab, if this tab leads, once the data is stored. */
  async announce(): Promise<void> {
    const { disk, copy, isRunning, status } = this.#options
    const { name } = copy
    const { confirmed = 0 } = copy.position ?? {}
    const isStored = await disk.stored().then(
      () => true,
      () => false,
    )
    const { term } = disk
    if (term === undefined || !isRunning()) return
    this.#term = term
    const isStoring = disk.kind === 'durable' && !disk.failure
    const sid = isStored ? confirmed : 0
    const lead = { term, sid, copy: name, isStoring, status: shareStatus(status()) }
    this.#channel.post({ type: 'lead', lead })
  }

  /** Sends a delta that this tab has received to the followers. */
  forward(delta: DeltaMessage): void {
    const { disk } = this.#options
    const isEmpty = delta.frames.length === 0 && delta.sid === delta.since
    if (!disk.leads || this.#channel.peers === 0 || isEmpty) return
    if (delta.frames.length > maxFrames) void this.announce()
    else this.#channel.post({ type: 'delta', delta })
  }

  /** Sends a change of the stored transactions to the other tabs. */
  postOutbox(entries: OutboxNews): void {
    this.#channel.post({ type: 'outbox', entries })
  }

  /** Sends the status to the followers, if it has changed. */
  postStatus(): void {
    const { disk, status } = this.#options
    if (!disk.leads || this.#channel.peers === 0) return
    const posted = this.#postedStatus
    const { connection, data, writes } = status()
    const isKnown = posted?.connection === connection && posted.data === data
    if (isKnown && posted.writes.paused === writes.paused) return
    this.#postedStatus = status()
    this.#channel.post({ type: 'status', status: shareStatus(this.#postedStatus) })
  }

  /** Lets the leader delete its data, to make room for transactions. Resolves once it has, or after `answerMs`. */
  async askForRoom(): Promise<void> {
    if (this.#channel.peers === 0) return
    const answered = new Deferred<void>()
    const cancel = this.#options.environment.clock.after(answerMs, () => answered.resolve())
    this.#onLeader = () => answered.resolve()
    this.#channel.post({ type: 'room' })
    await answered.promise
    cancel()
  }

  /** Stops following a leader whose stored data cannot be read. */
  fail(): void {
    // The next message of this leader would make the tab follow and fail again.
    this.#unreadable = this.#leader?.term
    this.leave()
  }

  /**
   * Lets the leader fetch. Resolves when its result is stored, and when there is no leader any more. Rejects with the
   * error of the fetch.
   */
  async sync(): Promise<void> {
    if (!this.#leader) return
    this.#count += 1
    const n = this.#count
    const error = await new Promise<SyncError | undefined>((resolve) => {
      this.#syncs.set(n, resolve)
      this.#channel.post({ type: 'sync', n })
    })
    if (error) throw error
  }

  /** Lets the leader continue after a 401. Goes to all tabs, since the leader may have changed. */
  resume(token: string | undefined): void {
    this.#channel.post({ type: 'resume', token })
  }

  /** Asks which tab leads. The answer counts as that of another leader, because messages before it may be lost. */
  ask(): void {
    this.#unanswered = 0
    this.#beginsAnew = true
    this.#channel.post({ type: 'ask' })
    this.#asking.within(askEveryMs)
  }

  /**
   * Asks whether the leader is still there, if this tab does not lead, and is visible or waits for a `sync`. In a hidden
   * tab, timers are slow; it asks when it becomes visible. A leader looks for new transactions instead.
   */
  #askAgain(): void {
    const { environment, disk, isRunning, listener } = this.#options
    if (!isRunning() || !this.hears) return
    if (disk.leads) {
      this.#asking.set(lookEveryMs)
      listener.lookForNew()
      return
    }
    this.#asking.set(askEveryMs)
    if (!environment.lifecycle.visible() && this.#syncs.size === 0) {
      this.#unanswered = 0
      return
    }
    this.#unanswered += 1
    if (this.#unanswered > 2) {
      this.leave()
      this.ask()
      listener.silent()
      return
    }
    this.#channel.post({ type: 'ask' })
    // The request or its answer may be lost, and the leader may have changed. Requests that overlap share one fetch.
    for (const n of this.#syncs.keys()) this.#channel.post({ type: 'sync', n })
  }

  #hear(message: TabMessage<SharedStatus>, from: string, version: number): void {
    const { disk, feed, isRunning, listener } = this.#options
    const isFromLeader = from === this.#leader?.id
    const isAsking = message.type === 'ask' || message.type === 'sync'
    const isOfLeaders = message.type === 'lead' || message.type === 'delta' || message.type === 'status'
    // A tab that asks follows itself.
    if (this.#leader ? isFromLeader && !isAsking : isOfLeaders) this.#unanswered = 0
    switch (message.type) {
      case 'ask':
        if (disk.leads) void this.announce()
        return
      case 'lead':
        this.#onLead(message.lead, from, version === this.#options.version)
        this.#onLeader()
        return
      case 'delta':
        if (isFromLeader) feed.hear({ kind: 'delta', delta: message.delta })
        return
      case 'status':
        if (!isFromLeader || !this.#leader) return
        this.#leader.status = statusFrom(message.status)
        listener.followed()
        return
      case 'outbox':
        listener.outbox(message.entries)
        return
      case 'sync':
        if (disk.leads && isRunning()) void this.#answerSync(from, message.n)
        return
      case 'synced':
        if (message.to === this.#channel.id) this.#endSync(message.n, errorFrom(message.error))
        return
      case 'resume':
        if (isRunning()) listener.resume(message.token)
        return
      case 'room':
        if (disk.leads) void disk.makeRoom(noRoom()).then(() => this.announce())
        return
      case 'sign-out':
        listener.signedOut()
        return
      case 'left':
        this.#onLeft()
        // The tab that left may have stored a transaction without a message.
        listener.outboxUnknown()
    }
  }

  #onLead(lead: Lead<SharedStatus>, from: string, isSame: boolean): void {
    const { disk, copy, feed, isRunning, status, listener } = this.#options
    // After the browser has deleted the stored data, the terms of the leader start again at 1.
    const isEarlier = lead.term < this.#term && from !== this.#leader?.id
    if (isEarlier || !isRunning()) return
    if (disk.leads) {
      // While this tab is becoming the leader, the previous leader may still send messages.
      if (lead.term <= (disk.term ?? this.#term)) return
      listener.overtaken()
    }
    this.#term = lead.term
    disk.heard(lead.term)
    const isUsable = disk.isOpen && !disk.outbox.refused
    const canRead = isUsable && lead.isStoring && isSame && lead.term !== this.#unreadable
    if (!canRead) {
      this.leave()
      return
    }
    const { id, term } = this.#leader ?? {}
    const isOther = this.#beginsAnew || id !== from || term !== lead.term
    this.#beginsAnew = false
    this.#leader = { id: from, term: lead.term, status: statusFrom(lead.status) }
    this.#asking.within(askEveryMs)
    const isReplaced = copy.name !== undefined && lead.copy !== copy.name
    if (isOther || isReplaced || feed.state === 'closed') {
      feed.open()
      feed.hear({ kind: 'hello', hello: { sid: lead.sid } })
    } else feed.hear({ kind: 'position', sid: lead.sid })
    // This message tells the leader that it has a follower.
    if (isOther) this.#channel.post({ type: 'ask' })
    // A message may have been lost.
    if (isOther || status().writes.pending > 0) listener.outboxUnknown()
    listener.followed()
  }

  /** Stops following. The other tabs still hear of the transactions that this tab stores. */
  leave(): void {
    const { feed, listener } = this.#options
    this.#asking.clear()
    if (!this.#leader) return
    this.#leader = undefined
    feed.close()
    for (const n of [...this.#syncs.keys()]) this.#endSync(n, undefined)
    listener.followed()
  }

  async #answerSync(to: string, n: number): Promise<void> {
    const error = await this.#options.listener.sync().then(
      () => undefined,
      (thrown: unknown) => shareError(toSyncError(thrown)),
    )
    this.#channel.post({ type: 'synced', to, n, ...(error && { error }) })
  }

  #endSync(n: number, error: SyncError | undefined): void {
    this.#syncs.get(n)?.(error)
    this.#syncs.delete(n)
  }
}

function noRoom(): StorageError {
  return new StorageError('quota', 'There is no room on the device for the writes of another tab.')
}
