import type { JsonValue, Payload } from '../protocol/json.ts'
import { isStorableName } from '../protocol/json-copy.ts'
import type { ReadRecord } from './log/log.ts'

/** A record as the application sees it: its fields, and its `id`. A client's records have the same form. */
export type DataRecord = { readonly id: string } & { readonly [field: string]: JsonValue }

/** Resolves with a record of any owner, or with `undefined` if there is none. */
export type RecordReader = (type: string, id: string) => Promise<DataRecord | undefined>

/** A copy, so that a change of it changes nothing that is stored. */
export function recordOf(id: string, p: Payload): DataRecord {
  return { ...structuredClone(p), id }
}

/** A type or id that cannot be stored has no record: callers may pass what a client has sent. */
export function recordReader(read: ReadRecord): RecordReader {
  return async (type, id) => {
    if (!isStorableName(type) || !isStorableName(id)) return undefined
    const stored = await read(type, id)
    return stored && recordOf(id, stored.p)
  }
}
