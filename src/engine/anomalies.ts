import type { Anomaly } from '../protocol/anomaly.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { RowOp } from '../protocol/fold.ts'

/** A server that is wrong throughout is told in so many anomalies, and a last one that counts the rest. */
const maxTold = 20

type Message = Pick<DeltaMessage, 'kind' | 'broken' | 'sid'>

/** The items of a message that were left out. */
export function ofBroken({ kind, broken, sid }: Message): readonly Anomaly[] {
  const leftOut = (what: string): Anomaly => ({ kind, sid, message: `Left out: ${what}.` })
  return told(broken, leftOut, (more) => leftOut(`${more} more of the kind`))
}

/** The changes to records that are not here. */
export function ofUnknown(ops: readonly RowOp[]): readonly Anomaly[] {
  const kind = 'unknown_record'
  return told(
    ops,
    ({ t, id }) => ({ kind, type: t, id, message: `A change came for ${t} ${id}, which is not here.` }),
    (more) => ({ kind, message: `${more} more changes came for records that are not here.` }),
  )
}

function told<T>(
  items: readonly T[],
  each: (item: T) => Anomaly,
  rest: (more: number) => Anomaly,
): readonly Anomaly[] {
  const first = items.slice(0, maxTold).map(each)
  const more = items.length - first.length
  return more > 0 ? [...first, rest(more)] : first
}

/** A snapshot that twice brought another number of rows than it said. */
export function ofCount(count: number | undefined, rows: number, sid: number): Anomaly {
  return { kind: 'count', sid, message: `The snapshot said ${count} rows and brought ${rows}, twice.` }
}
