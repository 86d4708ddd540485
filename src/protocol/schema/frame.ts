import * as z from 'zod/mini'
import { noFields } from '../json.ts'
import { lenient, nameSchema, payloadSchema, sidSchema } from './parts.ts'

const common = {
  sid: sidSchema,
  t: nameSchema,
  id: nameSchema,
  /** The time of the change, in ms since the epoch. It is passed to the application and never used for order. */
  at: lenient(z.number()),
  /** The id of the transaction that made the change. */
  tx: lenient(z.string()),
}

const fieldsSchema = z._default(payloadSchema, noFields)

/** One change (docs/protocol.md, "Rows and frames"). */
export const syncFrameSchema = z.discriminatedUnion('op', [
  /** Adds the record, or replaces it whole. */
  z.object({ op: z.literal('i'), ...common, p: fieldsSchema }),
  /** Replaces the listed fields. It cannot remove a field. */
  z.object({ op: z.literal('u'), ...common, p: fieldsSchema }),
  /** Removes the record. */
  z.object({ op: z.literal('d'), ...common }),
])
