import type * as z from 'zod/mini'
import { readSid } from './envelope.ts'
import { epochAndCallerOf, isCount, isOtherEpoch } from './guards.ts'
import type { bootstrapResultSchema } from './schema/bootstrap.ts'

export type BootstrapResult = z.infer<typeof bootstrapResultSchema>

/** The members of a snapshot other than its rows. Rows are read as they stream in. */
export type SnapshotHead = Readonly<Omit<BootstrapResult, 'lines' | 'rows'>>

/** The position of a copy of the data, and the history of the position. */
export type HistoryPosition = Pick<SnapshotHead, 'sid' | 'epoch'>

/**
 * Whether a snapshot of `head` is from another history than data that ended at `data`, as far as the two can show it.
 */
export function isOtherEpochOrBehind(data: HistoryPosition, head: HistoryPosition): boolean {
  return head.sid < data.sid || isOtherEpoch(data, head.epoch)
}

/**
 * Reads the head from the values at the top level of a snapshot. Throws a ProtocolError if `sid` is missing or wrong.
 */
export function readSnapshotHead(values: { readonly [name: string]: unknown }): SnapshotHead {
  const { count } = values
  return {
    sid: readSid(values, 'The snapshot'),
    ...epochAndCallerOf(values),
    ...(isCount(count) ? { count } : undefined),
  }
}
