import type { Debug } from '../base/logger.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { Hello } from '../protocol/hello.ts'
import type { Push } from '../protocol/push.ts'
import { ofBroken } from './anomalies.ts'
import type { Fetcher } from './fetcher.ts'
import type { LocalCopy } from './local-copy.ts'
import type { Outcome } from './position.ts'
import { PushBuffer } from './push-buffer.ts'
import type { Reporter } from './reporter.ts'

/**
 * After this many deltas below the `sid` of the hello, the client no longer waits for the rest: the server has no more.
 */
const maxDeltas = 4

/** The maximum number of frames of a push that is applied. Instead of a larger push, a delta is fetched. */
const maxFrames = 2_000

export interface FeedOptions {
  readonly copy: LocalCopy
  readonly fetcher: Pick<Fetcher, 'bootstrapping'>
  readonly reporter: Pick<Reporter, 'anomalies'>
  readonly debug: Debug
  readonly listener: FeedListener
}

/**
 * `live`: pushes are shown at once. `behind`: the source is open, and pushes wait until a delta has caught up.
 * `other-user`: the source belongs to another user, and its messages are ignored. `closed`: there is no source.
 */
export type FeedState = 'closed' | 'other-user' | 'behind' | 'live'

/**
 * How soon to fetch. `hurry`: at once, since the network is there. `want`: at once, except during a wait after a
 * failure. `hint`: within a second. `confirm`: within half a second, to confirm a push that is shown.
 */
export type Urgency = 'hurry' | 'want' | 'hint' | 'confirm'

export interface FeedListener {
  /** Changes are missing, or may be missing: fetch. */
  fetchNeeded(urgency: Urgency): void
  /** A message has arrived. */
  heard(): void
  /** A push was applied. */
  applied(outcome: Outcome): void
  /** The source has a heartbeat every `ms`. */
  heartbeat(ms: number): void
  /** The source is of no use: open another one. */
  useless(): void
}

/**
 * Handles the pushes of one source: the socket or, in a follower, the leader. After every opening of the source, pushes
 * are held back until the client has caught up: until a delta that was requested after the opening is applied, and
 * reaches the `sid` of the source's hello.
 */
export class Feed {
  readonly #options: FeedOptions
  readonly #held = new PushBuffer()
  /** Whether a fetch has begun since the last opening. */
  #began = false
  /** The number of deltas that were fetched since the last opening. */
  #deltas = 0
  #state: FeedState = 'closed'
  #hello: Hello | undefined
  /** The highest position that the source has named since the last opening. */
  #named = 0

  constructor(options: FeedOptions) {
    this.#options = options
  }

  get state(): FeedState {
    return this.#state
  }

  /** Whether the source has a heartbeat, so that a dead connection is detected without polling. */
  get hasHeartbeat(): boolean {
    return this.#hello?.heartbeatMs !== undefined
  }

  /** The extensions that the hello lists. */
  get features(): readonly string[] {
    return this.#hello?.features ?? []
  }

  /** Whether the source has named a position that the data does not reach. */
  get isBehind(): boolean {
    return this.#named > (this.#options.copy.position?.confirmed ?? 0)
  }

  /** Call when a source is open. */
  open(): void {
    this.#began = false
    this.#deltas = 0
    this.#enter('behind')
    this.#options.listener.fetchNeeded('hurry')
  }

  /** Call when a fetch begins. The disk is read then, so the owner of stored data is known. */
  began(): void {
    this.#began = true
    this.#ignoreOtherUser()
  }

  /** Call when the result of a fetch has been applied. */
  fetched(kind: 'bootstrap' | 'delta'): void {
    if (this.#state === 'behind' && this.#hasCaughtUp(kind)) this.#state = 'live'
    if (this.#state === 'live') this.#release()
    else if (this.#state === 'behind') this.#options.listener.fetchNeeded('want')
    // The fetch has just succeeded with the right credentials.
    else if (this.#state === 'other-user') this.#options.listener.useless()
  }

  /** Call when a fetch has failed. Applies the pushes that were held back during the fetch. */
  failed(): void {
    if (this.#state === 'live') this.#release()
  }

  /** Call when the source is closed. */
  close(): void {
    this.#enter('closed')
  }

  /** Ignores the source if its hello is for another user than the owner of the data. Returns whether it does. */
  #ignoreOtherUser(): boolean {
    const isOther = this.#options.copy.callerCheck.isOther(this.#hello?.caller)
    if (isOther) this.#enter('other-user')
    return isOther
  }

  /** Forgets what the source has said, and drops the held pushes. */
  #enter(state: FeedState): void {
    this.#state = state
    this.#hello = undefined
    this.#named = 0
    this.#held.take()
  }

  #hasCaughtUp(kind: 'bootstrap' | 'delta'): boolean {
    const confirmed = this.#options.copy.position?.confirmed ?? 0
    // A snapshot is not enough: a delta has to follow, unless there is no position to request it from.
    const isEnough = kind === 'delta' || confirmed <= 0
    if (!this.#began || !isEnough) return false
    this.#deltas += 1
    return confirmed >= (this.#hello?.sid ?? confirmed) || this.#deltas >= maxDeltas
  }

  /** Handles one message. */
  hear(push: Push): void {
    const { copy, fetcher, reporter, debug, listener } = this.#options
    if (this.#state === 'closed' || this.#state === 'other-user') return
    debug(`push: ${push.kind}`)
    // Any readable message shows that the source works, even without data.
    if (push.kind !== 'garbage') listener.heard()
    const confirmed = copy.position?.confirmed ?? 0
    const name = (sid: number) => {
      this.#named = Math.max(this.#named, sid)
    }
    switch (push.kind) {
      case 'hello':
        this.#hello = push.hello
        if (this.#began && this.#ignoreOtherUser()) {
          // The response to a fetch shows whether the current credentials belong to another user, too.
          listener.fetchNeeded('want')
          return
        }
        name(push.hello.sid)
        if (push.hello.heartbeatMs !== undefined) listener.heartbeat(push.hello.heartbeatMs)
        if (this.#state === 'live' && push.hello.sid > confirmed) listener.fetchNeeded('hint')
        return
      case 'position':
        name(push.sid)
        if (push.sid > confirmed) listener.fetchNeeded('hint')
        return
      case 'hint':
        listener.fetchNeeded('hint')
        return
      case 'garbage':
        reporter.anomalies([{ kind: 'push', message: 'Ignored a socket message that is not JSON.' }])
        return
      case 'delta':
        name(push.delta.sid)
        if (this.#state !== 'live' || fetcher.bootstrapping) this.#held.add(push.delta)
        // Unlike a push, a fetched delta is applied in short turns.
        else if (push.delta.frames.length > maxFrames) listener.fetchNeeded('want')
        else this.#take(push.delta)
    }
  }

  #release(): void {
    const { deltas, overflowed } = this.#held.take()
    for (const delta of deltas) this.#take(delta)
    if (overflowed) this.#options.listener.fetchNeeded('want')
  }

  #take(delta: DeltaMessage): void {
    const { copy, reporter, listener } = this.#options
    reporter.anomalies(ofBroken(delta))
    const outcome = copy.take(delta)
    if (outcome) listener.applied(outcome)
  }
}
