import type { Cursor, QuerySpec } from 'instep'
import type { Place } from './models.ts'
import type { Reader } from './reader.ts'
import { specOf, type View } from './view.ts'

type Client = Reader['client']

/** A window begins at a multiple of this. */
const step = 250

/** In rows: one step above what is looked at, and enough below it. */
const length = 4 * step

/** Where the window begins for someone who looks at row `first`. */
export function windowStart(first: number): number {
  return Math.max(0, Math.floor(first / step) - 1) * step
}

/**
 * Cuts windows out of a long result. A live query with a cursor and a limit costs by the rows in it, so a change is
 * shown in a fraction of a millisecond, where taking over 170 000 rows would need several frames.
 *
 * A row that moves from one side of a window to the other does not move the window: its place is in the order.
 */
export class Windows {
  readonly #client: Client
  readonly #spec: QuerySpec<Place>
  readonly #column: View['column']
  /** What a window comes behind, by where it begins. */
  readonly #cursors = new Map<number, Cursor>()

  constructor(client: Client, view: View) {
    this.#client = client
    this.#spec = specOf(view)
    this.#column = view.column
  }

  at(start: number): QuerySpec<Place> {
    return { ...this.#spec, after: this.#cursorBefore(start), limit: length }
  }

  /** Walks there from the nearest place that is known, and notes all places on the way. */
  #cursorBefore(start: number): Cursor | undefined {
    let known = start
    while (known > 0 && !this.#cursors.has(known)) known -= step
    if (known < start) {
      const after = this.#cursors.get(known)
      const { rows } = this.#client.query('Place', { ...this.#spec, after, limit: start - known })
      for (let count = step; count <= rows.length; count += step) {
        const row = rows[count - 1]
        if (row) this.#cursors.set(known + count, { values: [row[this.#column]], id: row.id })
      }
    }
    return this.#cursors.get(start)
  }
}
