import type { Anomaly } from '../protocol/anomaly.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { RowOp } from '../protocol/fold.ts'

/** A server that is wrong throughout is told in so many anomalies, and a last one that counts the rest. */
const mostTold = 20

/** The items of a delta that were left out. */
export function ofDelta({ kind, broken, sid }: DeltaMessage): readonly Anomaly[] {
  return ofBroken(kind, broken, sid)
}

/** The items of a message that were left out. */
export function ofBroken(kind: 'row' | 'frame', broken: readonly string[], sid: number): readonly Anomaly[] {
  const told = broken.slice(0, mostTold).map((fault) => ({ kind, sid, message: `Left out: ${fault}.` }))
  const more = broken.length - told.length
  return more > 0 ? [...told, { kind, sid, message: `Left out: ${more} more of the kind.` }] : told
}

/** The changes to records that are not here. */
export function ofUnknown(ops: readonly RowOp[]): readonly Anomaly[] {
  return ops.slice(0, mostTold).map(({ t, id }) => ({
    kind: 'unknown_record',
    t,
    id,
    message: `A change came for ${t} ${id}, which is not here.`,
  }))
}

/** A snapshot that twice brought another number of rows than it said. */
export function ofCount(count: number | undefined, rows: number, sid: number): Anomaly {
  return { kind: 'count', sid, message: `The snapshot said ${count} rows and brought ${rows}, twice.` }
}
