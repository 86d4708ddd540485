import type { JsonValue } from '../protocol/json.ts'
import type { DataRecord } from './record.ts'

/** A query as data. Fields that are missing count as `null`. */
export interface QuerySpec {
  readonly where?: Where
  /** Fields to order by, ascending unless it says `desc`. Ties, and a query without an order, go by `id`. */
  readonly orderBy?: readonly OrderTerm[] | string
  readonly limit?: number
  /** Begins behind this place. */
  readonly after?: Cursor
  /** A condition that data cannot say. It is asked about one record at a time, and must depend on nothing else. */
  readonly filter?: (record: DataRecord) => boolean
}

export type OrderTerm = string | readonly [field: string, direction: 'asc' | 'desc']

/** Every field must match; a plain value means equality. */
export type Where = {
  readonly [field: string]: JsonValue | Condition | readonly Where[] | Where | undefined
}

export interface Condition {
  readonly eq?: JsonValue
  readonly ne?: JsonValue
  readonly in?: readonly JsonValue[]
  readonly gt?: JsonValue
  readonly gte?: JsonValue
  readonly lt?: JsonValue
  readonly lte?: JsonValue
  readonly startsWith?: string
  /** A part of a string, or an element of an array. */
  readonly contains?: JsonValue
}

/** A place in an order: the values it orders by, and the id. It is data, and can be kept. */
export interface Cursor {
  readonly values: readonly JsonValue[]
  readonly id: string
}
