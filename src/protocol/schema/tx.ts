import * as z from 'zod/mini'
import { featuresSchema, lenient, nameSchema, payloadSchema, sidSchema } from './parts.ts'

const txIdSchema = z.string().check(z.minLength(1), z.maxLength(64))

const target = {
  t: nameSchema,
  id: nameSchema,
  /** The op fails with `conflict` if the record has changed after this `sid`. */
  unchangedSince: z.optional(sidSchema),
}

/** One op of a transaction. `remainingOp` says what `was` does. */
export const txOpSchema = z.discriminatedUnion('op', [
  /**
   * Adds a record. With `put`, it replaces an existing one. With `was: null`, it does nothing if there is one. With
   * `restores`, it brings back the record that this transaction of the caller has removed.
   */
  z.object({
    op: z.literal('i'),
    ...target,
    p: payloadSchema,
    put: z.optional(z.boolean()),
    was: z.optional(z.null()),
    restores: z.optional(txIdSchema),
  }),
  /** Replaces the fields in `p` and removes those in `unset`: a field in `was` only if it still has that value. */
  z.object({
    op: z.literal('u'),
    ...target,
    p: payloadSchema,
    unset: z.optional(z.readonly(z.array(nameSchema))),
    was: z.optional(payloadSchema),
  }),
  /**
   * Removes the record: with `was`, only if it still has all of these values; if `was` is `whole`, only if it also has
   * no other field.
   */
  z.object({
    op: z.literal('d'),
    ...target,
    was: z.optional(payloadSchema),
    whole: z.optional(z.boolean()),
  }),
])

/** A transaction on the wire: the server applies all ops or none. */
export const wireTransactionSchema = z.object({
  /**
   * A UUIDv7 made by the client (RFC 9562, section 5.7). If the same id is sent again, the server returns the first
   * result again.
   */
  id: txIdSchema,
  /** The client's position when the transaction was made. */
  since: sidSchema,
  /** The history of `since` and of each `unchangedSince`. */
  epoch: lenient(z.string()),
  ops: z.array(txOpSchema).check(z.minLength(1)),
  /** The caller's transactions that this one builds on: their changes are no conflict. */
  bases: z.optional(z.array(txIdSchema)),
  /** The transactions that must be accepted for this one to be accepted. */
  requires: z.optional(z.array(txIdSchema)),
})

/** The body of `POST {base}/tx`. */
export const txRequestSchema = z.object({
  txs: z.array(wireTransactionSchema).check(z.minLength(1)),
  /** The extensions of results that the client knows. */
  features: featuresSchema,
})

/** The result of one transaction: the `sid` of its last frame, or why it was rejected or cannot be decided. */
export const txResultSchema = z.union([
  // A result with an error is a rejection, whatever else it has.
  z.object({ id: z.string(), sid: sidSchema, error: z.optional(z.null()) }),
  z.object({
    id: z.string(),
    error: z.object({ code: z.string(), message: lenient(z.string()), details: z.optional(z.unknown()) }),
    /** With the code `type_unavailable`: when to send the transaction again, in seconds. */
    retryAfter: lenient(z.number()),
  }),
])

/** The response to a request: a result for each transaction, in order. */
export const txResponseSchema = z.object({
  sid: sidSchema,
  epoch: lenient(z.string()),
  /** The user who sent the transactions. */
  caller: lenient(z.string()),
  features: featuresSchema,
  results: z.array(txResultSchema),
})
