import { applyOp, keyOf, type RowOp } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { PageEntry } from './format.ts'

/** Applies a journal to pages. Pass the pages one by one, the last page first. */
export class JournalFold {
  readonly #types = new Set<string>()
  /** The ops of each record that no page has contained yet. */
  readonly #waiting = new Map<string, RowOp[]>()
  readonly #done = new Set<string>()
  #owesRepair = false

  add(ops: readonly RowOp[]): void {
    for (const op of ops) {
      const key = keyOf(op)
      const earlier = this.#waiting.get(key)
      if (earlier) earlier.push(op)
      else this.#waiting.set(key, [op])
      this.#types.add(op.t)
    }
  }

  /** Whether this page may contain a changed record. */
  concerns({ types }: PageEntry): boolean {
    return types.some(([t]) => this.#types.has(t))
  }

  /** The rows of a page with the journal applied; the same array if no row changes. */
  applyTo(rows: readonly WireRow[]): readonly WireRow[] {
    // Go backwards, as with the pages: of two rows of the same record, the later row is the valid one.
    const folded = [...rows]
      .reverse()
      .map((row) => this.#foldRow(row))
      .reverse()
    return folded.some((row, index) => row !== rows[index]) ? folded.filter((row) => row !== undefined) : rows
  }

  /** The records that no page has contained. */
  *rest(): Generator<WireRow> {
    for (const ops of this.#waiting.values()) {
      const row = this.#fold(undefined, ops)
      if (row) yield row
    }
  }

  /** Whether changes were for missing records. Final once all pages are folded and `rest` is read. */
  get owesRepair(): boolean {
    return this.#owesRepair
  }

  #foldRow(row: WireRow): WireRow | undefined {
    const key = keyOf(row)
    const ops = this.#waiting.get(key)
    if (!ops) return this.#done.has(key) ? undefined : row
    this.#waiting.delete(key)
    this.#done.add(key)
    return this.#fold(row, ops)
  }

  #fold(before: WireRow | undefined, ops: readonly RowOp[]): WireRow | undefined {
    let row = before
    let isMissing = false
    for (const op of ops) {
      // An insert or a removal needs no earlier record.
      isMissing = op.op === 'u' && (isMissing || !row)
      row = applyOp(row, op)
    }
    this.#owesRepair ||= isMissing
    return row
  }
}
