import type { Clock } from '../base/environment.ts'
import { toSyncError } from '../base/errors.ts'
import { Timer } from '../base/timer.ts'
import { yieldAfter } from '../base/turns.ts'
import { check, sentenceOf } from '../models/check.ts'
import type { Models } from '../models/models.ts'
import type { Anomaly } from '../protocol/anomaly.ts'
import type { RowChange } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { Replica } from '../records/replica.ts'
import type { Reporter } from './reporter.ts'

/** A turn of checking takes about this long, in ms. */
const turnMs = 8

/** Rows between two looks at the clock. */
const stride = 100

/** So many are looked at without a turn of their own. */
const few = 10

/** More are looked at so much later, in ms, when they are mostly stored. */
const laterMs = 50

export interface ModelCheckOptions {
  readonly models: Models
  readonly replica: Replica
  readonly clock: Clock
  readonly reporter: Pick<Reporter, 'anomalies' | 'error'>
}

/**
 * Holds what came against the application's models. What breaks its model is kept, and told: one anomaly for each type
 * of what is looked at together. A whole copy is looked at afterwards, in short turns, so that it is shown without waiting.
 */
export class ModelCheck {
  readonly #options: ModelCheckOptions
  /** Another number ends the check of an older copy. */
  #run = 0
  #stopped = false
  readonly #later: Timer
  #waiting: readonly WireRow[] = []
  /** The types whose schema cannot be used. That is told once. */
  readonly #unusable = new Set<string>()

  constructor(options: ModelCheckOptions) {
    this.#options = options
    this.#later = new Timer(options.clock, () => {
      const rows = this.#waiting
      this.#waiting = []
      void this.#lookInTurns(rows, () => this.#stopped)
    })
  }

  /** A few records are looked at now, many a little later, so that neither showing nor storing them waits. */
  changed(changes: readonly RowChange[]): void {
    const { models } = this.#options
    const rows = changes.flatMap(({ t, after }) => (after && models.types.has(t) ? after : []))
    if (rows.length > few) {
      this.#waiting = [...this.#waiting, ...rows]
      this.#later.within(laterMs)
      return
    }
    const faults = new Faults()
    for (const row of rows) this.#look(faults, row)
    this.#options.reporter.anomalies(faults.anomalies())
  }

  /** Other data stands in place of the old, or that of `types` has come to it. */
  async replaced(types?: Iterable<string>): Promise<void> {
    const { models, replica } = this.#options
    if (!types) {
      this.#run += 1
      this.#waiting = []
    }
    const run = this.#run
    const isOver = () => this.#stopped || run !== this.#run
    for (const t of types ?? models.types.keys()) await this.#lookInTurns(replica.confirmedAll(t), isOver)
  }

  /** For good. */
  stop(): void {
    this.#stopped = true
    this.#later.clear()
  }

  async #lookInTurns(rows: Iterable<WireRow>, isOver: () => boolean): Promise<void> {
    const { clock } = this.#options
    const faults = new Faults()
    await clock.pause()
    const pauseIfLong = yieldAfter(clock, turnMs)
    let seen = 0
    for (const row of rows) {
      if (isOver()) return
      this.#look(faults, row)
      seen += 1
      if (seen % stride === 0) await pauseIfLong()
    }
    this.#options.reporter.anomalies(faults.anomalies())
  }

  #look(faults: Faults, row: WireRow): void {
    if (this.#unusable.has(row.t)) return
    try {
      faults.look(this.#options.models, row)
    } catch (error) {
      this.#unusable.add(row.t)
      this.#options.reporter.error(toSyncError(error))
    }
  }
}

/** The first fault of each type, and how many there are. */
class Faults {
  readonly #byType = new Map<string, { readonly first: Anomaly; rows: number }>()

  look(models: Models, row: WireRow): void {
    const { t, id, p } = row
    const [issue] = check(models, t, p)
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
