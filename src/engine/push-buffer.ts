import type { DeltaMessage } from '../protocol/delta.ts'

/** The maximum number of held deltas and frames. After an overflow, fetch a delta. */
const maxItems = 2_000

/** Holds pushes that cannot be applied yet. Drops all of them when full. */
export class PushBuffer {
  #deltas: DeltaMessage[] = []
  #items = 0
  #overflowed = false

  add(delta: DeltaMessage): void {
    this.#items += 1 + delta.frames.length
    if (this.#items > maxItems) this.#overflowed = true
    if (this.#overflowed) this.#deltas = []
    else this.#deltas.push(delta)
  }

  /** Empties the buffer and returns the pushes. `overflowed`: pushes were dropped, and have to be fetched. */
  take(): { readonly deltas: readonly DeltaMessage[]; readonly overflowed: boolean } {
    const taken = { deltas: this.#deltas, overflowed: this.#overflowed }
    this.#deltas = []
    this.#items = 0
    this.#overflowed = false
    return taken
  }
}
