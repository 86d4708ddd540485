import type { Clock } from '../base/environment.ts'
import { Timer } from '../base/timer.ts'
import type { Realtime, Urgency } from './realtime.ts'

/** What is shown without proof is confirmed within this time. */
const confirmWithinMs = 500

/** Hints do not make a client fetch more often than this. */
const hintEveryMs = 1_000

export interface PollScheduleOptions {
  readonly clock: Clock
  /** In ms. */
  readonly pollInterval: number
  readonly realtime: Pick<Realtime, 'state' | 'hasHeartbeat'>
  /** It is time to fetch. `hurry`: without waiting any longer after a failure. */
  readonly fetch: (urgency: 'hurry' | 'want') => void
}

/** When to fetch without being asked to: after silence, after a hint, and to prove what is shown. */
export class PollSchedule {
  readonly #options: PollScheduleOptions
  readonly #poll: Timer
  readonly #soon: Timer
  #polls = false
  #beganAt = 0
  /** How many fetches in a row have left something unconfirmed. */
  #unconfirmed = 0
  /** A fetch was called for because a live socket was silent: if it brings news, the socket is deaf. */
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

  /** A fetch begins. Whether news would show that the socket is deaf. */
  began(): boolean {
    const suspicious = this.#suspicious
    this.#suspicious = false
    this.#soon.clear()
    this.#beganAt = this.#options.clock.now()
    return suspicious
  }

  /** A fetch has succeeded, and left something unconfirmed or not. */
  fetched(unconfirmed: boolean): void {
    this.heard()
    if (!unconfirmed) this.#unconfirmed = 0
    // One that is stopped asks about nothing.
    else if (this.#polls) {
      // A push that no delta confirms, since its `sid` never was, is asked about less and less often.
      this.#soon.within(Math.min(hintEveryMs * 2 ** this.#unconfirmed, this.#options.pollInterval))
      this.#unconfirmed += 1
    }
  }

  /** Something came. */
  heard(): void {
    if (this.#polls) this.#poll.set(this.#options.pollInterval)
  }

  /** Something is missing, or may be. */
  missing(urgency: Urgency): void {
    // A clock that was set back makes nobody wait longer.
    const wait = Math.min(this.#beganAt + hintEveryMs - this.#options.clock.now(), hintEveryMs)
    if (urgency === 'hint') this.#soon.within(wait)
    else if (urgency === 'confirm') this.#soon.within(confirmWithinMs)
    else this.#options.fetch(urgency)
  }

  #pollNow(): void {
    this.heard()
    const { state, hasHeartbeat } = this.#options.realtime
    if (hasHeartbeat) return
    this.#suspicious = state === 'live'
    this.#options.fetch('want')
  }
}
