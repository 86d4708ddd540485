import { reuse } from '../protocol/fold.ts'
import type { JsonValue } from '../protocol/json.ts'
import type { WireRow } from '../protocol/row.ts'

/**
 * A record as an application sees it: the payload's fields, and `id`. It is frozen; what it nests is shared with the
 * replica, and must not be changed either, as its type says.
 */
export type DataRecord = { readonly id: string } & { readonly [field: string]: JsonValue }

/** Makes each row's record when it is first asked for; the same row gives the same record. */
export class Records {
  readonly #made = new WeakMap<WireRow, DataRecord>()

  of(row: WireRow): DataRecord {
    const { id, p } = row
    const { id: named } = p
    // A payload that names its id is the record as it is, without a copy.
    if (named === id) return Object.freeze(p as DataRecord)
    const made = this.#made.get(row)
    if (made) return made
    // The id first is the cheaper copy; a payload with another id must not overwrite the row's.
    const record: DataRecord = Object.freeze(named === undefined ? { id, ...p } : { ...p, id })
    this.#made.set(row, record)
    return record
  }

  /** `row`, or as much of `old` as says the same: an equal record stays the same by reference. */
  reuse(old: WireRow, row: WireRow): WireRow {
    const reused = reuse(old, row)
    if (reused !== old && reused.p === old.p) this.#made.set(reused, this.of(old))
    return reused
  }
}
