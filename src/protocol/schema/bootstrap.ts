import * as z from 'zod/mini'
import { lenient, sidSchema } from './parts.ts'
import { wireRowSchema } from './row.ts'

/** The whole answer of bootstrap (the interface's "BootstrapResult", with the extensions `epoch` and `count`). */
export const bootstrapResultSchema = z.object({
  sid: sidSchema,
  /** Names the history that `sid` counts in; see `docs/protocol.md`. */
  epoch: lenient(z.string()),
  /** How many rows follow; for progress, it comes before them. */
  count: lenient(z.int().check(z.nonnegative())),
  rows: z.array(wireRowSchema),
})
