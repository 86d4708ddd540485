import { sql } from 'kysely'

/**
 * Whether the fields of a change are forgotten. Only the kind of the change is left in its `frame` then: whether it
 * replaced a whole record still counts.
 */
export const isForgotten = sql<boolean>`(frame::text in ('{"op" : "i"}', '{"op" : "u"}'))`

/** The change as a removal, without its fields. */
export const removalText = sql<string>`
  json_strip_nulls(json_build_object('sid', sid, 't', t, 'id', id, 'op', 'd', 'at', at, 'tx', tx))::text`
