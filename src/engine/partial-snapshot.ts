import type { Clock } from '../base/environment.ts'
import type { Replica } from '../records/replica.ts'
import type { Staging } from '../records/staging.ts'

/** A first snapshot that takes longer than this to come, in ms, is shown as it does. */
const minMs = 1_000

/** What is to come sooner than this, in ms, is waited for: to show a part first would hold it up. */
const minRestMs = 3_000

export interface PartialSnapshotOptions {
  readonly replica: Replica
  readonly clock: Clock
  readonly onShown: () => void
}

/**
 * Shows what has come of a slow first snapshot before the rest does: twice as many rows each time, and no fewer where one
 * breaks off and another begins. That takes a tenth of the time at most, with what listens.
 */
export class PartialSnapshot {
  readonly #options: PartialSnapshotOptions
  #rows = 0
  #beganAt = 0
  #nextAt = 0

  constructor(options: PartialSnapshotOptions) {
    this.#options = options
  }

  /** To be called when a snapshot begins to come. */
  begin(): void {
    this.#beganAt = this.#options.clock.now()
    this.#nextAt = this.#beganAt + minMs
  }

  /**
   * To be called when more has come: `staging` holds it all, and nothing may be added to that before this resolves. `fraction`
   * of the whole, where that is known.
   */
  async came(staging: Pick<Staging, 'part'>, rows: number, fraction = 0): Promise<void> {
    const { replica, clock, onShown } = this.#options
    const now = clock.now()
    const restMs = (now - this.#beganAt) * (1 / fraction - 1)
    if (replica.isReady() || rows < 2 * this.#rows || now < this.#nextAt || restMs < minRestMs) return
    const part = await staging.part()
    // In place of data, no part may stand.
    if (replica.isReady()) return
    this.#rows = rows
    replica.swap(part)
    onShown()
    this.#nextAt = now + minMs + 10 * (clock.now() - now)
  }
}
