import type { Clock } from '../base/environment.ts'
import { toSyncError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import { yieldAfter } from '../base/turns.ts'
import { issuesOf, sentenceOf } from '../models/issues.ts'
import type { Models } from '../models/models.ts'
import type { Anomaly } from '../protocol/anomaly.ts'
import type { RowChange } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { Replica } from '../records/replica.ts'
import type { Reporter } from './reporter.ts'

/** The length of a slice of checking, in ms. */
const sliceMs = 8

/** The number of rows that are checked between two readings of the clock. */
const stride = 100

/** The maximum number of changed rows that are checked at once. */
const maxImmediate = 10

/** The delay of the check for more rows, in ms. Most rows are stored by that time. */
const delayMs = 50

export interface ModelCheckOptions {
  readonly models: Models
  readonly replica: Replica
  readonly clock: Clock
  readonly reporter: Pick<Reporter, 'anomalies' | 'error'>
}

/**
 * Checks records from the server against the application's models. A record that breaks its model is kept and reported:
 * one anomaly for each type and check. A new copy is shown first and checked afterwards, in short slices.
 */
export class ModelCheck {
  readonly #options: ModelCheckOptions
  /** The number of the current copy. Increasing the number ends the check of the previous copy. */
  #run = 0
  #stopped = false
  readonly #timer: Timer
  #waiting: readonly WireRow[] = []
  /** The types whose schema cannot be used. Each is reported once. */
  readonly #unusable = new Set<string>()

  constructor(options: ModelCheckOptions) {
    this.#options = options
    this.#timer = new Timer(options.clock, () => {
      const rows = this.#waiting
      this.#waiting = []
      void this.#checkInSlices(rows, () => this.#stopped)
    })
  }

  /**
   * Checks a few changed records at once, and many a little later, so that the check delays neither showing nor
   * storing.
   */
  changed(changes: readonly RowChange[]): void {
    const { models } = this.#options
    const rows = changes.flatMap(({ t, after }) => (after && models.types.has(t) ? after : []))
    if (rows.length > maxImmediate) {
      this.#waiting = [...this.#waiting, ...rows]
      this.#timer.within(delayMs)
      return
    }
    const violations = new Violations()
    for (const row of rows) this.#check(violations, row)
    this.#options.reporter.anomalies(violations.anomalies())
  }

  /** Checks all records after the data was replaced, or only those of `types` after these were loaded. */
  async replaced(types?: Iterable<string>): Promise<void> {
    const { models, replica } = this.#options
    if (!types) {
      this.#run += 1
      this.#waiting = []
    }
    const run = this.#run
    const isOver = () => this.#stopped || run !== this.#run
    for (const t of types ?? models.types.keys()) await this.#checkInSlices(replica.confirmedAll(t), isOver)
  }

  /** Stops checking for good. */
  stop(): void {
    this.#stopped = true
    this.#timer.clear()
  }

  async #checkInSlices(rows: Iterable<WireRow>, isOver: () => boolean): Promise<void> {
    const { clock } = this.#options
    const violations = new Violations()
    await clock.pause()
    const pauseIfLong = yieldAfter(clock, sliceMs)
    let checked = 0
    for (const row of rows) {
      if (isOver()) return
      this.#check(violations, row)
      checked += 1
      if (checked % stride === 0) await pauseIfLong()
    }
    this.#options.reporter.anomalies(violations.anomalies())
  }

  #check(violations: Violations, row: WireRow): void {
    if (this.#unusable.has(row.t)) return
    try {
      violations.check(this.#options.models, row)
    } catch (error) {
      this.#unusable.add(row.t)
      this.#options.reporter.error(toSyncError(error))
    }
  }
}

/** The first violation of each type, and the number of records that break their model. */
class Violations {
  readonly #byType = new Map<string, { readonly first: Anomaly; rows: number }>()

  check(models: Models, row: WireRow): void {
    const { t, id, p } = row
    const [issue] = issuesOf(models, t, p)
    if (!issue) return
    const known = this.#byType.get(t)
    if (known) known.rows += 1
    else
      this.#byType.set(t, {
        first: { kind: 'model', type: t, id, message: sentenceOf(t, id, issue) },
        rows: 1,
      })
  }

  anomalies(): readonly Anomaly[] {
    return [...this.#byType.values()].map(({ first, rows }) =>
      rows === 1 ? first : { ...first, message: `${first.message} ${rows - 1} more of the type break it.` },
    )
  }
}
