import type * as z from 'zod/mini'
import { readSid } from './envelope.ts'
import { epochOf, isCount } from './guards.ts'
import type { bootstrapResultSchema } from './schema/bootstrap.ts'

export type BootstrapResult = z.infer<typeof bootstrapResultSchema>

/** What a snapshot says beside its rows, which are read as they stream in. */
export type SnapshotHead = Readonly<Omit<BootstrapResult, 'lines' | 'rows'>>

/** How far a copy has come, and in which history. */
export type HistoryPosition = Pick<SnapshotHead, 'sid' | 'epoch'>

/** The head from the values at a snapshot's top level. Throws a ProtocolError where the `sid` is missing or wrong. */
export function readSnapshotHead(values: { readonly [name: string]: unknown }): SnapshotHead {
  const { count } = values
  return {
    sid: readSid(values, 'The snapshot'),
    ...epochOf(values),
    ...(isCount(count) ? { count } : undefined),
  }
}
