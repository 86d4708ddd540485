import type { Clock } from '../base/environment.ts'
import type { Replica } from '../records/replica.ts'
import type { Staging } from '../records/staging.ts'

/** A first snapshot is shown in parts if its download takes longer than this, in ms. */
const minMs = 1_000

/** No part is shown if the rest is expected within this time, in ms: showing a part would delay the rest. */
const minRestMs = 3_000

export interface PartialSnapshotOptions {
  readonly replica: Replica
  readonly clock: Clock
  readonly onShown: () => void
}

/**
 * Shows parts of a slow first snapshot while the rest is being downloaded. Each part has at least twice as many rows as
 * the part before it, also if the download fails and starts again. Showing, including listeners, takes at most a tenth
 * of the time.
 */
export class PartialSnapshot {
  readonly #options: PartialSnapshotOptions
  #rows = 0
  #beganAt = 0
  #nextAt = 0

  constructor(options: PartialSnapshotOptions) {
    this.#options = options
  }

  /** Call when the download of a snapshot begins. */
  begin(): void {
    this.#beganAt = this.#options.clock.now()
    this.#nextAt = this.#beganAt + minMs
  }

  /**
   * Call when more rows have come. `staging`: all rows so far; add none before the promise resolves. `rows`: their
   * number. `fraction`: how much of the snapshot has come, from 0 to 1, if known.
   */
  async came(staging: Pick<Staging, 'part'>, rows: number, fraction = 0): Promise<void> {
    const { replica, clock, onShown } = this.#options
    const now = clock.now()
    const restMs = (now - this.#beganAt) * (1 / fraction - 1)
    if (replica.isReady() || rows < 2 * this.#rows || now < this.#nextAt || restMs < minRestMs) return
    const part = await staging.part()
    // A part must never replace complete data.
    if (replica.isReady()) return
    this.#rows = rows
    replica.swap(part)
    onShown()
    this.#nextAt = now + minMs + 10 * (clock.now() - now)
  }
}
