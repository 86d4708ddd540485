import type { Payload } from '../protocol/json.ts'
import type { Accepted, Context, Op } from './context.ts'
import { type Copy, missingIn } from './copy.ts'
import type { Exchange } from './exchange.ts'
import { keyOf } from './messages.ts'

/** A position, and the records that deltas have led to. */
export interface Step {
  /** The kind of the last write, as in `a removal`. */
  readonly what: string
  readonly copy: Copy
  /** A snapshot at this position or later, brought to the position of `copy` or beyond. */
  readonly snapshot: { readonly copy: Copy; readonly exchange: Exchange | undefined } | undefined
}

export interface History {
  readonly steps: readonly Step[]
  /** The last one. */
  readonly copy: Copy
  /** Those of the records; without the removed ones if the deltas have rows, which show no removal. */
  readonly keys: ReadonlySet<string>
}

/**
 * Writes all kinds of changes to a few records, one after the other, and follows them by deltas. Each copy is compared
 * with what was written.
 */
export async function historyOf(context: Context, withSnapshots: boolean): Promise<History> {
  const [a, b, c] = [context.record(), context.record(), context.record()]
  const written = new Map<string, Payload | undefined>()
  const { change } = context.run
  const hasChange = Object.keys(change).length > 0
  const writes: readonly (readonly [what: string, ops: readonly Op[]])[] = [
    ['an insertion', [context.insertion(a)]],
    ['an insertion of two records', [context.insertion(b), context.insertion(c)]],
    ...(hasChange ? [['a change', [context.update(a)]] as const] : []),
    ['a removal', [context.removal(b)]],
    ['an insertion with an id that was removed', [context.insertion(b)]],
    ...(hasChange ? [['a change of a record that was there before', [context.update(b)]] as const] : []),
    ['a removal and an insertion in one transaction', [context.removal(c), context.insertion(c)]],
    ['a removal of two records', [context.removal(a), context.removal(c)]],
  ]
  const copy = await context.copy()
  const steps: Step[] = [{ what: 'the beginning', copy: copy.clone(), snapshot: undefined }]
  for (const [what, ops] of writes) {
    const { sid }: Accepted = await context.write(ops)
    for (const op of ops) note(written, op)
    await context.reach(copy, sid)
    const { last } = context.wire
    for (const record of [a, b, c]) {
      const isUnknown = copy.hasRows && written.get(keyOf(record)) === undefined
      const fault = isUnknown ? undefined : missingIn(copy.get(record), written.get(keyOf(record)))
      context.holdUnless(
        fault && `${record.t} ${record.id}: ${fault}`,
        `After ${what}, a delta leads to what was written.`,
        last,
      )
    }
    steps.push({
      what,
      copy: copy.clone(),
      snapshot: withSnapshots ? await snapshotAt(context, copy.sid) : undefined,
    })
  }
  const keys = [a, b, c].map(keyOf).filter((key) => !copy.hasRows || written.get(key))
  return { steps, copy, keys: new Set(keys) }
}

/** Another server's snapshot may be of an earlier position, after a removal or from a replica: a delta follows then. */
async function snapshotAt(context: Context, sid: number): Promise<Step['snapshot']> {
  const copy = await context.copy()
  const exchange = context.wire.last
  await context.reach(copy, sid)
  return { copy, exchange }
}

function note(written: Map<string, Payload | undefined>, { op, t, id, p }: Op): void {
  const key = keyOf({ t: String(t), id: String(id) })
  const fields = p as Payload
  if (op === 'd') written.set(key, undefined)
  else written.set(key, op === 'i' ? fields : { ...written.get(key), ...fields })
}
