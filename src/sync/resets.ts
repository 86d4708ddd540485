import type { Clock } from '../base/world.ts'
import type { ResetReason } from '../session/events.ts'
import { isWithin } from './is-within.ts'

/** A bootstrap that repairs what cannot be read or does not fit is not made more often than this. */
const repairEveryMs = 3_600_000

/** After a bootstrap that no delta continues, another one waits this long, and four times longer each time. */
const fruitlessMs = 60_000

/** When a bootstrap is made though there is a position to ask for a delta, and how long none is made that would not help. */
export class Resets {
  readonly #clock: Clock
  /** Why the next fetch must be a bootstrap. `owed`: it need not, but for a repair that may not be made yet. */
  #next: ResetReason | 'owed' | undefined
  #repairedAt = Number.NEGATIVE_INFINITY
  /**
   * The last bootstrap, if no delta has continued it yet: another would bring the same. When it was, in ms since the epoch,
   * and how many such there were in a row before it.
   */
  #fresh: { readonly at: number; readonly before: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Why the next fetch must be a bootstrap, if it must. */
  get due(): ResetReason | undefined {
    return this.#next === 'owed' ? undefined : this.#next
  }

  /** Where a repair is owed, to be tried once more: when one was last made for this cause, in ms since the epoch. */
  get owedSince(): number | undefined {
    return this.#next === 'owed' ? this.#repairedAt : undefined
  }

  /** Makes one due for what is missing, unless one was made for this cause lately: then it is owed. Gives whether it did. */
  repair(): boolean {
    if (isWithin(this.#clock, this.#repairedAt, repairEveryMs)) {
      this.#next ??= 'owed'
      return false
    }
    this.#repairedAt = this.#clock.now()
    this.#next = 'repair'
    return true
  }

  /** The same, of what the disk was to hold and does not give. A bootstrap brings all, so that it is the last. */
  refill(): void {
    this.#next = this.due ?? 'repair'
  }

  /** A repair was owed before a restart; the last one was made at the time `repairedAt`. */
  owe(repairedAt: number): void {
    this.#repairedAt = repairedAt
    this.#next ??= 'owed'
  }

  /** No delta follows on what is here. Gives whether a bootstrap is due; `false` where that cannot help yet. */
  reset(reason: ResetReason): boolean {
    const { at, before } = this.#fresh ?? longAgo
    // Another history may have come since the last one began, which brought the one before.
    const mayHelp = reason === 'epoch' && before === 0
    if (!mayHelp && isWithin(this.#clock, at, Math.min(fruitlessMs * 4 ** before, repairEveryMs)))
      return false
    this.#next = reason
    return true
  }

  /** A delta follows on what is here. */
  continued(): void {
    this.#fresh = undefined
  }

  /** A bootstrap was made, up to `sid`. */
  made(sid: number): void {
    this.#next = undefined
    const before = this.#fresh ? this.#fresh.before + 1 : 0
    // Behind an empty one no delta is asked for.
    this.#fresh = sid > 0 ? { at: this.#clock.now(), before } : undefined
  }
}

const longAgo = { at: Number.NEGATIVE_INFINITY, before: 0 }
