import type { JsonValue } from '../protocol/json.ts'

/** A record as an application sees it: the payload's fields, and `id`. Immutable, whatever it nests. */
export type DataRecord = { readonly id: string } & { readonly [field: string]: JsonValue }
