import type { Clock } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import { Timer } from '../../base/timer.ts'

/**
 * The interval, in ms, at which the queue is checked for changes without a notification. Only one of several concurrent
 * transactions notifies, so the queue may hold changes of the others. Changes in quick succession are recorded
 * together.
 */
const pollMs = 250
const soonMs = 15

export interface DrainLoopOptions {
  /** Records the queued changes. Resolves with whether there were any. */
  readonly drain: () => Promise<boolean>
  readonly clock: Clock
  readonly logger: Logger
}

/** Records changes of attached tables, one drain at a time, until it is stopped. */
export class DrainLoop {
  readonly #options: DrainLoopOptions
  readonly #timer: Timer
  #running: Promise<void> | undefined
  #isWoken = false
  #isStopped = false
  #isFailing = false
  /** Whether a drain has just ended with changes or an error, so that the next one waits. */
  #isResting = false
  #waitMs = pollMs

  constructor(options: DrainLoopOptions) {
    this.#options = options
    this.#timer = new Timer(options.clock, () => this.#onTimer())
  }

  /** Starts a drain now, or soon after the current one. */
  wake(): void {
    if (this.#isStopped) return
    this.#isWoken = true
    if (!this.#isResting) this.#running ??= this.#run()
  }

  /** Resolves once nothing runs any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer.clear()
    await this.#running
  }

  async #run(): Promise<void> {
    this.#timer.clear()
    this.#isWoken = false
    const { drain, logger } = this.#options
    try {
      const hasTaken = await drain()
      this.#waitMs = hasTaken ? soonMs : Math.min(pollMs, this.#waitMs * 2)
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing && !this.#isStopped) {
        const reason = toError(error).message
        logger.error('Changes of attached tables cannot be recorded; trying again.', { reason })
      }
      this.#isFailing = true
      this.#waitMs = pollMs
    }
    this.#running = undefined
    if (!this.#isStopped) this.#rest()
  }

  /** Waits before the next drain: only briefly if one is wanted already. */
  #rest(): void {
    this.#isResting = this.#waitMs === soonMs || this.#isFailing
    this.#timer.set(this.#waitMs)
    if (this.#isWoken && !this.#isResting) this.wake()
  }

  #onTimer(): void {
    this.#isResting = false
    this.wake()
  }
}
