import * as z from 'zod/mini'
import { noFields } from '../json.ts'
import { lenient, nameSchema, payloadSchema, sidSchema } from './parts.ts'

const common = {
  sid: sidSchema,
  t: nameSchema,
  id: nameSchema,
  /** When it was made, in ms since the epoch. Told to the application, never used for order. */
  at: lenient(z.number()),
  /** The id of the transaction that made it. */
  tx: lenient(z.string()),
}

const fieldsSchema = z._default(payloadSchema, noFields)

/** One change (the interface's "SyncFrame"). */
export const syncFrameSchema = z.discriminatedUnion('op', [
  /** Adds the record, or replaces it whole. */
  z.object({ op: z.literal('i'), ...common, p: fieldsSchema }),
  /** Replaces the fields it lists; none can be removed. */
  z.object({ op: z.literal('u'), ...common, p: fieldsSchema }),
  /** Removes the record. */
  z.object({ op: z.literal('d'), ...common }),
])
