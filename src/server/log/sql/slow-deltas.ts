/** How long the database may take for a part of a delta, in ms: clients wait for 30 s for each part. */
export const maxPartMs = 10_000

/** If a part of a delta over fewer changes takes long, the database is busy, and a snapshot would not help. */
const minChanges = 5_000

/** Runs `read`, which fetches a part of a response. */
export type Watch = <T>(read: () => Promise<T>) => Promise<T>

/**
 * The deltas that take too long. A client that asks for one of them again fetches a snapshot: another try would take as
 * long.
 */
export class SlowDeltas {
  readonly #now: () => number
  /** The highest position from which a delta has taken too long. */
  #since = Number.NEGATIVE_INFINITY

  /** `now`: the time in ms. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Whether a delta from `since` takes too long. */
  has(since: number): boolean {
    return since <= this.#since
  }

  /** Observes a delta from `since` to `till`. */
  watch(since: number, till: number): Watch {
    return async (read) => {
      const began = this.#now()
      try {
        return await read()
      } finally {
        const isSlow = this.#now() - began >= maxPartMs && till - since >= minChanges
        if (isSlow) this.#since = Math.max(this.#since, since)
      }
    }
  }
}
