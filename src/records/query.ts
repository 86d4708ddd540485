import { refuseUnknown } from '../base/check-options.ts'
import { wrongOption } from '../base/errors.ts'
import { type Conditions, readWhere } from '../models/conditions.ts'
import type { Row } from '../models/values.ts'
import { type Order, readCursor, readOrder } from './order.ts'
import type { QuerySpec } from './query-spec.ts'

/** A query after parsing and checking. */
export interface Query {
  readonly where: Conditions
  readonly filter: QuerySpec['filter']
  readonly order: Order
  /** Infinity if there is no limit. */
  readonly limit: number
  /** The result begins after this place. */
  readonly after: Row | undefined
}

/** Parses a query. Throws a ConfigurationError that names the invalid part, such as `where.title` or `limit`. */
export function readQuery(spec: QuerySpec): Query {
  if (typeof spec !== 'object' || spec === null)
    throw wrongOption('spec', 'must be an object of query options.')
  const { where, filter, orderBy, limit = Number.POSITIVE_INFINITY, after } = spec
  refuseUnknown(spec, { where, filter, orderBy, limit, after })
  if (filter !== undefined && typeof filter !== 'function') {
    throw wrongOption('filter', 'must be a function.')
  }
  if (limit !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(limit) && limit >= 0)) {
    throw wrongOption('limit', 'must be a whole number of records, 0 or more.')
  }
  const order = readOrder(orderBy)
  return {
    where: readWhere(where),
    filter,
    order,
    limit,
    after: after && readCursor(after, order),
  }
}
