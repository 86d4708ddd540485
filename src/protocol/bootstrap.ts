import * as z from 'zod/mini'
import { readSid } from './envelope.ts'
import { wireRowSchema } from './row.ts'
import { lenient, sidSchema } from './schemas.ts'

/** The whole answer of bootstrap (the interface's "BootstrapResult", with the extensions `epoch` and `count`). */
export const bootstrapResultSchema = z.object({
  sid: sidSchema,
  /** Names the history that `sid` counts in; see `docs/protocol.md`. */
  epoch: lenient(z.string()),
  /** How many rows follow; for progress, it comes before them. */
  count: lenient(z.int().check(z.nonnegative())),
  rows: z.array(wireRowSchema),
})

export type BootstrapResult = z.infer<typeof bootstrapResultSchema>

/** What a snapshot says beside its rows, which are read as they stream in. */
export type SnapshotHead = Readonly<Omit<BootstrapResult, 'rows'>>

/** The head from the values at a snapshot's top level. Throws a ProtocolError where the `sid` is missing or wrong. */
export function readSnapshotHead(values: { readonly [name: string]: unknown }): SnapshotHead {
  const { epoch, count } = values
  return {
    sid: readSid(values, 'The snapshot'),
    ...(typeof epoch === 'string' ? { epoch } : undefined),
    ...(isCount(count) ? { count } : undefined),
  }
}

export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
