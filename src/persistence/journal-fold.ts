import { applyOp, type RowOp, rowKey, UnknownRecords } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { PageEntry } from './format.ts'

/** What a journal makes of the pages below it. They are asked for one by one, the last page first. */
export class JournalFold {
  readonly #types = new Set<string>()
  /** The ops of each record that no page has shown yet. */
  readonly #waiting = new Map<string, RowOp[]>()
  readonly #done = new Set<string>()
  readonly #unknown = new UnknownRecords()

  /** `ops` are changes to records that are known not to be there. */
  addUnknown(ops: readonly RowOp[]): void {
    for (const op of ops) this.#unknown.note(op, false)
  }

  add(ops: readonly RowOp[]): void {
    for (const op of ops) {
      const key = rowKey(op.t, op.id)
      const earlier = this.#waiting.get(key)
      if (earlier) earlier.push(op)
      else this.#waiting.set(key, [op])
      this.#types.add(op.t)
    }
  }

  /** Whether this page can hold a record that changes. */
  concerns({ types }: PageEntry): boolean {
    return types.some(([t]) => this.#types.has(t))
  }

  /** The rows of a page as they are now; the same array where none changes. */
  applyTo(rows: readonly WireRow[]): readonly WireRow[] {
    // Backwards, as the pages: of two rows of one record the later one holds.
    const now = [...rows]
      .reverse()
      .map((row) => this.#after(row))
      .reverse()
    return now.some((row, index) => row !== rows[index]) ? now.filter((row) => row !== undefined) : rows
  }

  /** The records that no page has shown. */
  *rest(): Generator<WireRow> {
    for (const ops of this.#waiting.values()) {
      const row = this.#fold(undefined, ops)
      if (row) yield row
    }
  }

  /** Once all was folded: the changes to records that are not there. */
  get unknown(): readonly RowOp[] {
    return this.#unknown.ops
  }

  #after(row: WireRow): WireRow | undefined {
    const key = rowKey(row.t, row.id)
    const ops = this.#waiting.get(key)
    if (!ops) return this.#done.has(key) ? undefined : row
    this.#waiting.delete(key)
    this.#done.add(key)
    return this.#fold(row, ops)
  }

  #fold(before: WireRow | undefined, ops: readonly RowOp[]): WireRow | undefined {
    let row = before
    for (const op of ops) {
      this.#unknown.note(op, row !== undefined)
      row = applyOp(row, op)
    }
    return row
  }
}
