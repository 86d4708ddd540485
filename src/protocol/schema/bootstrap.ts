import * as z from 'zod/mini'
import { lenient, sidSchema } from './parts.ts'
import { wireRowSchema } from './row.ts'

/** The response of bootstrap (docs/protocol.md, "Snapshot"). */
export const bootstrapResultSchema = z.object({
  sid: sidSchema,
  /** The history of `sid`. */
  epoch: lenient(z.string()),
  /** The user who sent the request. It precedes the rows, so that the client accepts no row of another user. */
  caller: lenient(z.string()),
  /** The number of rows. It precedes the rows, for progress. */
  count: lenient(z.int().check(z.nonnegative())),
  /** Whether a line feed follows each row, and none is inside a row. It precedes the rows. */
  lines: lenient(z.boolean()),
  rows: z.array(wireRowSchema),
})
