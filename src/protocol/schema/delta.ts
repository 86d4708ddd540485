import * as z from 'zod/mini'
import { syncFrameSchema } from './frame.ts'
import { lenient, sidSchema } from './parts.ts'
import { wireRowSchema } from './row.ts'

const head = {
  sid: sidSchema,
  epoch: lenient(z.string()),
  /** Stands for the user who asks; a push has none. */
  caller: lenient(z.string()),
  since: lenient(sidSchema),
}

/** The answer of delta, and most of what a socket brings (the interface's "DeltaResult"). */
export const deltaResultSchema = z.union([
  z.object({ ...head, frames: z.array(syncFrameSchema) }),
  z.object({ ...head, rows: z.array(wireRowSchema) }),
  z.extend(wireRowSchema, head),
])
