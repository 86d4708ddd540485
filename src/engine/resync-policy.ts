import type { Clock } from '../base/environment.ts'
import { isWithin } from '../base/is-within.ts'
import type { Restored } from '../persistence/stored-data.ts'
import type { ResetReason } from './events.ts'

/** The minimum time between two repairs, in ms. */
const repairEveryMs = 3_600_000

/** After this many refusals with the same status in a row, the client stops asking for the delta and bootstraps. */
const maxRefusals = 3

const noRefusals = { status: 0, count: 0 }

/**
 * The wait after a bootstrap that no delta continues, or after a failed repair, in ms. Each later wait is four times
 * longer.
 */
const fruitlessMs = 60_000

/**
 * A bootstrap that did not help. `at`: its time, in ms since the epoch. `before`: the number of futile bootstraps in a
 * row before it.
 */
interface FutileBootstrap {
  readonly at: number
  readonly before: number
  /** The minimum wait before the next bootstrap. */
  readonly minWaitMs?: number
}

/** Decides when a client with a position bootstraps, and how long it waits if a bootstrap did not help. */
export class ResyncPolicy {
  readonly #clock: Clock
  #next: ResetReason | undefined
  /** Whether records are missing. */
  #owesRepair = false
  #repairedAt: number | undefined
  /** The last repair that failed. */
  #failed: FutileBootstrap | undefined
  /** The last bootstrap, while no delta has continued it: another one would probably bring the same data. */
  #fresh: FutileBootstrap | undefined
  /** The number of refused deltas in a row with the same status. */
  #refusals = noRefusals

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The reason why the next fetch must be a bootstrap, if it must. */
  get due(): ResetReason | undefined {
    return this.#next
  }

  /** Whether a repair, a bootstrap that brings missing records, is to follow the next delta. */
  get isRepairDue(): boolean {
    if (!this.#owesRepair || this.#isRecent(this.#failed)) return false
    return this.#repairedAt === undefined || !isWithin(this.#clock, this.#repairedAt, repairEveryMs)
  }

  /** The time of the last repair, in ms since the epoch. */
  get repairedAt(): number | undefined {
    return this.#repairedAt
  }

  /** Call when records are missing. A repair follows as soon as it is allowed. */
  owe(): void {
    this.#owesRepair = true
  }

  /** Call with the repair state that was stored before a restart. */
  restore({ owed, at }: Restored['repair']): void {
    this.#owesRepair ||= owed
    this.#repairedAt ??= at
  }

  /** Call when the disk lost data that is not in memory. A bootstrap brings all types, so one is enough. */
  refill(): void {
    this.#next ??= 'repair'
  }

  /** Call when no delta can continue the data. Returns whether a bootstrap is due; `false` if it cannot help yet. */
  reset(reason: ResetReason): boolean {
    // The epoch may have changed again during the last bootstrap.
    const mayHelp = reason === 'epoch' && this.#fresh?.before === 0
    if (!mayHelp && this.#isRecent(this.#fresh)) return false
    this.#next = reason
    return true
  }

  /** Call when the server has refused a delta with `status`. Returns whether to stop asking for the delta. */
  refused(status: number): boolean {
    const count = status === this.#refusals.status ? this.#refusals.count + 1 : 1
    this.#refusals = { status, count }
    return count >= maxRefusals
  }

  /** Call when a delta has arrived. */
  arrived(): void {
    this.#refusals = noRefusals
  }

  /** Call when a delta has continued the data. */
  continued(): void {
    this.#fresh = undefined
  }

  /** Call when a repair has failed. The next one waits at least `minWaitMs`. */
  failed(minWaitMs = 0): void {
    this.#failed = { ...this.#after(this.#failed), minWaitMs }
  }

  /** Call after a bootstrap up to `sid`. `repairedAt`: its start time, if it was a repair. */
  made(sid: number, repairedAt?: number): void {
    this.arrived()
    this.#next = undefined
    this.#owesRepair = false
    this.#repairedAt = repairedAt ?? this.#repairedAt
    this.#failed = undefined
    // After an empty snapshot, the client does not ask for deltas.
    this.#fresh = sid > 0 ? this.#after(this.#fresh) : undefined
  }

  #after(last: FutileBootstrap | undefined): FutileBootstrap {
    return { at: this.#clock.now(), before: last ? last.before + 1 : 0 }
  }

  /** Whether it is too early for another bootstrap. */
  #isRecent(last: FutileBootstrap | undefined): boolean {
    if (!last) return false
    const ms = Math.min(fruitlessMs * 4 ** last.before, repairEveryMs)
    return isWithin(this.#clock, last.at, Math.max(ms, last.minWaitMs ?? 0))
  }
}
