import type { Clock } from '../base/environment.ts'
import { isWithin } from '../base/is-within.ts'
import type { Restored } from '../persistence/database.ts'
import type { ResetReason } from './events.ts'

/** A bootstrap that repairs what cannot be read or does not fit is not made more often than this. */
const repairEveryMs = 3_600_000

/** After one that no delta continues, or a repair that fails, another one waits this long, and four times longer each time. */
const fruitlessMs = 60_000

/** A bootstrap that did not help: when it was, in ms since the epoch, and how many such there were in a row before it. */
interface InVain {
  readonly at: number
  readonly before: number
  /** So long another one must wait. */
  readonly atLeastMs?: number
}

/** When a bootstrap is made though there is a position to ask for a delta, and how long none is made that would not help. */
export class ResyncPolicy {
  readonly #clock: Clock
  #next: ResetReason | undefined
  /** Whether records are missing, when a bootstrap was last made for them, and the last one that failed. */
  #owesRepair = false
  #repairedAt: number | undefined
  #failed: InVain | undefined
  /** The last bootstrap, if no delta has continued it yet: another would bring the same. */
  #fresh: InVain | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Why the next fetch must be a bootstrap, whatever came before, if it must. */
  get due(): ResetReason | undefined {
    return this.#next
  }

  /** Whether a bootstrap for what is missing is to follow the next delta. */
  get isRepairDue(): boolean {
    if (!this.#owesRepair || this.#isRecent(this.#failed)) return false
    return this.#repairedAt === undefined || !isWithin(this.#clock, this.#repairedAt, repairEveryMs)
  }

  /** When a bootstrap was last made for what was missing, in ms since the epoch. */
  get repairedAt(): number | undefined {
    return this.#repairedAt
  }

  /** Records are missing: a bootstrap is to bring them, as soon as it may. */
  owe(): void {
    this.#owesRepair = true
  }

  /** What is known from before a restart. */
  restore({ owed, at }: Restored['repair']): void {
    this.#owesRepair ||= owed
    this.#repairedAt ??= at
  }

  /** What the disk was to hold it does not give. A bootstrap brings all, so that it is the last. */
  refill(): void {
    this.#next ??= 'repair'
  }

  /** No delta follows on what is here. Gives whether a bootstrap is due; `false` where that cannot help yet. */
  reset(reason: ResetReason): boolean {
    // Another history may have come since the last one began, which brought the one before.
    const mayHelp = reason === 'epoch' && this.#fresh?.before === 0
    if (!mayHelp && this.#isRecent(this.#fresh)) return false
    this.#next = reason
    return true
  }

  /** A delta follows on what is here. */
  continued(): void {
    this.#fresh = undefined
  }

  /** A repair has failed, and is not to be tried again for `atLeastMs`. */
  failed(atLeastMs = 0): void {
    this.#failed = { ...this.#after(this.#failed), atLeastMs }
  }

  /** A bootstrap was made, up to `sid`; for what was missing, if it was begun at the time `repairedAt`. */
  made(sid: number, repairedAt?: number): void {
    this.#next = undefined
    this.#owesRepair = false
    this.#repairedAt = repairedAt ?? this.#repairedAt
    this.#failed = undefined
    // Behind an empty one no delta is asked for.
    this.#fresh = sid > 0 ? this.#after(this.#fresh) : undefined
  }

  #after(last: InVain | undefined): InVain {
    return { at: this.#clock.now(), before: last ? last.before + 1 : 0 }
  }

  /** Whether it is too early for another one. */
  #isRecent(last: InVain | undefined): boolean {
    if (!last) return false
    const ms = Math.min(fruitlessMs * 4 ** last.before, repairEveryMs)
    return isWithin(this.#clock, last.at, Math.max(ms, last.atLeastMs ?? 0))
  }
}
