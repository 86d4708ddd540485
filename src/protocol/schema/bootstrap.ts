import * as z from 'zod/mini'
import { lenient, sidSchema } from './parts.ts'
import { wireRowSchema } from './row.ts'

/** The whole answer of bootstrap (the interface's "BootstrapResult", with the extensions `epoch`, `caller`, `count` and `lines`). */
export const bootstrapResultSchema = z.object({
  sid: sidSchema,
  /** Names the history that `sid` counts in; see `docs/protocol.md`. */
  epoch: lenient(z.string()),
  /** Stands for the user who asks; before the rows, so that none of another user's is taken. */
  caller: lenient(z.string()),
  /** How many rows follow; for progress, it comes before them. */
  count: lenient(z.int().check(z.nonnegative())),
  /** Whether a line feed stands behind each row, and in none; that, too, comes before them. */
  lines: lenient(z.boolean()),
  rows: z.array(wireRowSchema),
})
