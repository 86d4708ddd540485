import * as z from 'zod/mini'
import { lenient, nameSchema, payloadSchema, sidSchema } from './parts.ts'

const txIdSchema = z.string().check(z.minLength(1), z.maxLength(64))

const target = {
  t: nameSchema,
  id: nameSchema,
  /** The op fails with `conflict` where the record changed after this `sid`. */
  unchangedSince: z.optional(sidSchema),
}

/** One op of a transaction. */
export const txOpSchema = z.discriminatedUnion('op', [
  /** Adds a record; with `put` it replaces one that is there. */
  z.object({ op: z.literal('i'), ...target, p: payloadSchema, put: z.optional(z.boolean()) }),
  /** Replaces the fields it lists. */
  z.object({ op: z.literal('u'), ...target, p: payloadSchema }),
  z.object({ op: z.literal('d'), ...target }),
])

/** A transaction as sent: all of it happens, or nothing. */
export const wireTransactionSchema = z.object({
  /** A UUIDv7 made by the client (RFC 9562, section 5.7): the same id again gets the first answer again. */
  id: txIdSchema,
  /** The client's position when it was made. */
  since: sidSchema,
  /** The history in which `since`, and each `unchangedSince`, counts. */
  epoch: lenient(z.string()),
  ops: z.array(txOpSchema).check(z.minLength(1)),
  /** The caller's transactions on top of which it was made: their changes are no conflict. */
  bases: z.optional(z.array(txIdSchema)),
  /** The transactions without which it must not happen. */
  requires: z.optional(z.array(txIdSchema)),
})

/** The body of `POST {base}/tx`. */
export const txRequestSchema = z.object({ txs: z.array(wireTransactionSchema).check(z.minLength(1)) })

/** The verdict on one transaction: the `sid` of its last frame, or why it was refused. */
export const txResultSchema = z.union([
  // What has an error is refused, whatever else it says.
  z.object({ id: z.string(), sid: sidSchema, error: z.optional(z.null()) }),
  z.object({
    id: z.string(),
    error: z.object({ code: z.string(), message: lenient(z.string()), details: z.optional(z.unknown()) }),
  }),
])

/** The answer to a request: a verdict for each transaction, in order. */
export const txResponseSchema = z.object({
  sid: sidSchema,
  epoch: lenient(z.string()),
  /** Stands for the user who sent them. */
  caller: lenient(z.string()),
  results: z.array(txResultSchema),
})
