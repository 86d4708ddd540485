import type * as z from 'zod/mini'
import { readSid } from './envelope.ts'
import { isCount, isOtherEpoch, namesOf } from './guards.ts'
import type { bootstrapResultSchema } from './schema/bootstrap.ts'

export type BootstrapResult = z.infer<typeof bootstrapResultSchema>

/** What a snapshot says beside its rows, which are read as they stream in. */
export type SnapshotHead = Readonly<Omit<BootstrapResult, 'lines' | 'rows'>>

/** How far a copy has come, and in which history. */
export type HistoryPosition = Pick<SnapshotHead, 'sid' | 'epoch'>

/** Whether data that ended at `data` and a snapshot of `head` belong to different histories, as far as the two tell. */
export function isOtherEpochOrBehind(data: HistoryPosition, head: HistoryPosition): boolean {
  return head.sid < data.sid || isOtherEpoch(data, head.epoch)
}

/** The head from the values at a snapshot's top level. Throws a ProtocolError where the `sid` is missing or wrong. */
export function readSnapshotHead(values: { readonly [name: string]: unknown }): SnapshotHead {
  const { count } = values
  return {
    sid: readSid(values, 'The snapshot'),
    ...namesOf(values),
    ...(isCount(count) ? { count } : undefined),
  }
}
