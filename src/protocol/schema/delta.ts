import * as z from 'zod/mini'
import { syncFrameSchema } from './frame.ts'
import { lenient, sidSchema } from './parts.ts'
import { wireRowSchema } from './row.ts'

const head = {
  sid: sidSchema,
  epoch: lenient(z.string()),
  /** The user who sent the request; a push has none. */
  caller: lenient(z.string()),
  since: lenient(sidSchema),
}

/** The response of delta, and most messages of a socket (docs/protocol.md, "Delta"). */
export const deltaResultSchema = z.union([
  z.object({ ...head, frames: z.array(syncFrameSchema) }),
  z.object({ ...head, rows: z.array(wireRowSchema) }),
  z.extend(wireRowSchema, head),
])
