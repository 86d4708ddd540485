import type { JsonValue, Payload } from '../protocol/json.ts'
import type { WireRow } from '../protocol/row.ts'

/**
 * A record as an application sees it: the payload's fields, and `id`. It is frozen; what it nests is shared with the
 * replica, and must not be changed either, as its type says.
 */
export type DataRecord = { readonly id: string } & { readonly [field: string]: JsonValue }

/** Makes each record when it is first asked for. The same payload gives the same one, whatever row it is in by now. */
export class Records {
  readonly #made = new WeakMap<Payload, DataRecord>()

  of({ id, p }: WireRow): DataRecord {
    const { id: named } = p
    // A payload that names its id is the record as it is, without a copy.
    if (named === id) return Object.freeze(p as DataRecord)
    const made = this.#made.get(p)
    if (made?.id === id) return made
    // The id first is the cheaper copy; a payload with another id must not overwrite the row's.
    const record: DataRecord = Object.freeze(named === undefined ? { id, ...p } : { ...p, id })
    this.#made.set(p, record)
    return record
  }
}
