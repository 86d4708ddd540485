import type { DeltaMessage } from '../protocol/delta.ts'

/** Enough for a busy minute; what overflows is fetched again. */
const maxItems = 20_000

/** Holds what is pushed while it cannot be applied yet. Bounded: when full, it lets go of all. */
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

  /** Empties it. `overflowed`: something was let go, and has to be fetched. */
  take(): { readonly deltas: readonly DeltaMessage[]; readonly overflowed: boolean } {
    const taken = { deltas: this.#deltas, overflowed: this.#overflowed }
    this.#deltas = []
    this.#items = 0
    this.#overflowed = false
    return taken
  }
}
