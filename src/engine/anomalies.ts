import type { Anomaly } from '../protocol/anomaly.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { RowOp } from '../protocol/fold.ts'

/** The maximum number of anomalies for one message. One more anomaly counts the rest. */
const maxDetailed = 20

type Message = Pick<DeltaMessage, 'kind' | 'broken' | 'sid'>

/** The anomalies for the items of a message that were left out. */
export function ofBroken({ kind, broken, sid }: Message): readonly Anomaly[] {
  const leftOut = (what: string): Anomaly => ({
    kind,
    sid,
    message: `Ignored invalid data: ${what}.`,
  })
  return limited(broken, leftOut, (more) => leftOut(`${more} more ${kind}s`))
}

/** The anomalies for updates of records that are not in the local copy. */
export function ofUnknown(ops: readonly RowOp[]): readonly Anomaly[] {
  const kind = 'unknown_record'
  return limited(
    ops,
    ({ t, id }) => ({
      kind,
      type: t,
      id,
      message: `The server updated an unknown record: ${t} ${id}.`,
    }),
    (more) => ({ kind, message: `The server updated ${more} more unknown records.` }),
  )
}

function limited<T>(
  items: readonly T[],
  each: (item: T) => Anomaly,
  rest: (more: number) => Anomaly,
): readonly Anomaly[] {
  const first = items.slice(0, maxDetailed).map(each)
  const more = items.length - first.length
  return more > 0 ? [...first, rest(more)] : first
}

/** The anomaly for a snapshot that twice contained another number of rows than its head declares. */
export function ofCount(count: number | undefined, rows: number, sid: number): Anomaly {
  return { kind: 'count', sid, message: `The snapshot declared ${count} rows and had ${rows}, twice.` }
}
