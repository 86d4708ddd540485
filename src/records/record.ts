import type { JsonValue, Payload } from '../protocol/json.ts'
import type { WireRow } from '../protocol/row.ts'

/**
 * A record as the application sees it: the fields of the payload, and `id`, which also wins over a field `id` of the
 * payload. The record is frozen. Nested values are shared with the replica and must not be changed either, as the type
 * says. A record type with optional fields is not assignable to this type.
 */
export type DataRecord = { readonly id: string } & { readonly [field: string]: JsonValue }

/**
 * Makes each record when it is first asked for. The same payload always returns the same record, even if the row object
 * differs.
 */
export class Records {
  readonly #records = new WeakMap<Payload, DataRecord>()

  of({ id, p }: WireRow): DataRecord {
    const { id: payloadId } = p
    // A payload that includes the right id is used as the record, without a copy.
    if (payloadId === id) return Object.freeze(p as DataRecord)
    const known = this.#records.get(p)
    if (known?.id === id) return known
    // To copy with the id first is cheaper, but a different id in the payload must not overwrite the row's id.
    const record: DataRecord = Object.freeze(payloadId === undefined ? { id, ...p } : { ...p, id })
    this.#records.set(p, record)
    return record
  }
}
