import type { Clock } from '../base/environment.ts'
import { ProtocolError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import type { Feed, Urgency } from './feed.ts'

/** The delay of the fetch that confirms an unconfirmed push, in ms. */
const confirmWithinMs = 500

/** The minimum time between two fetches that follow hints, in ms. It doubles with each futile fetch. */
const hintEveryMs = 1_000

/**
 * The number of futile fetches in a row, within about half a minute, after which the client reports a fault of the
 * server.
 */
const maxFutile = 6

export interface PollScheduleOptions {
  readonly clock: Clock
  /** In ms. */
  readonly pollInterval: number
  readonly feed: Pick<Feed, 'state' | 'hasHeartbeat' | 'isBehind'>
  /** Starts a fetch. `hurry`: end the wait after a failure. */
  readonly fetch: (urgency: 'hurry' | 'want') => void
  /** The server names positions that its deltas do not reach. */
  readonly onFutile: (error: ProtocolError) => void
}

/** Decides when to fetch without a request of the application: after silence, after a hint, and to confirm pushes. */
export class PollSchedule {
  readonly #options: PollScheduleOptions
  readonly #poll: Timer
  readonly #soon: Timer
  #polls = false
  #beganAt = 0
  /** The number of fetches in a row that ended at `#sid` although the server has named a higher position. */
  #futile = 0
  #sid = 0
  /**
   * Whether the next fetch is made because a live source was silent. If it brings changes, the source delivers nothing.
   */
  #suspicious = false

  constructor(options: PollScheduleOptions) {
    this.#options = options
    this.#poll = new Timer(options.clock, () => this.#pollNow())
    this.#soon = new Timer(options.clock, () => options.fetch('want'))
  }

  start(): void {
    this.#polls = true
  }

  stop(): void {
    this.#polls = false
    this.#poll.clear()
    this.#soon.clear()
  }

  /**
   * Call when a fetch begins. Returns whether changes in its response prove that the source of the feed delivers
   * nothing.
   */
  began(): boolean {
    const suspicious = this.#suspicious
    this.#suspicious = false
    this.#soon.clear()
    this.#beganAt = this.#options.clock.now()
    return suspicious
  }

  /** Call when a fetch has succeeded, with the position after it. */
  fetched(sid: number): void {
    this.heard()
    const { feed, onFutile } = this.#options
    const { isBehind } = feed
    if (!isBehind || sid !== this.#sid) this.#futile = 0
    this.#sid = sid
    if (!isBehind || !this.#polls) return
    // Fetch less and less often: the named position may not exist on the server, and then no delta reaches it.
    this.#soon.within(this.#hintEveryMs)
    this.#futile += 1
    if (this.#futile !== maxFutile) return
    onFutile(new ProtocolError('discontinuous', 'The server pushes positions that its deltas do not reach.'))
  }

  get #hintEveryMs(): number {
    return Math.min(hintEveryMs * 2 ** this.#futile, this.#options.pollInterval)
  }

  /** Call when the server has sent anything: the time of silence starts again. */
  heard(): void {
    if (this.#polls) this.#poll.set(this.#options.pollInterval)
  }

  /** Fetches as soon as `urgency` asks. Call when changes are missing, or may be missing. */
  fetch(urgency: Urgency): void {
    // Limit the wait in case the clock was set back.
    const wait = Math.min(this.#beganAt + this.#hintEveryMs - this.#options.clock.now(), this.#hintEveryMs)
    if (urgency === 'hint') this.#soon.within(wait)
    else if (urgency === 'confirm') this.#soon.within(confirmWithinMs)
    else this.#options.fetch(urgency)
  }

  #pollNow(): void {
    this.heard()
    const { state, hasHeartbeat } = this.#options.feed
    if (hasHeartbeat) return
    this.#suspicious = state === 'live'
    this.#options.fetch('want')
  }
}
