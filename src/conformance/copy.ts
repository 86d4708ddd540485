import { jsonEqual, type Payload } from '../protocol/json.ts'
import { type Delta, keyOf, type Snapshot } from './messages.ts'

/** The copy that a client has: the records at a position. Applies deltas by the rules of the protocol. */
export class Copy {
  sid: number
  readonly records: Map<string, Payload>
  /** Whether a delta with rows was applied. Rows show no removal, so that records may be there that are gone. */
  hasRows = false
  /** Whether a snapshot took the place of changes that the server had forgotten. */
  hasJumped = false

  constructor(sid: number, records: Iterable<readonly [string, Payload]> = []) {
    this.sid = sid
    this.records = new Map(records)
  }

  static of({ sid, rows }: Snapshot): Copy {
    return new Copy(
      sid,
      rows.map((row) => [keyOf(row), row.p] as const),
    )
  }

  clone(): Copy {
    const copy = new Copy(this.sid, this.records)
    copy.hasRows = this.hasRows
    copy.hasJumped = this.hasJumped
    return copy
  }

  apply({ sid, frames, rows }: Delta): void {
    for (const row of rows) this.records.set(keyOf(row), row.p)
    if (frames === undefined) this.hasRows = true
    for (const frame of frames ?? []) {
      const key = keyOf(frame)
      const before = this.records.get(key)
      if (frame.op === 'd') this.records.delete(key)
      else if (frame.op === 'i') this.records.set(key, frame.p)
      else if (before) this.records.set(key, { ...before, ...frame.p })
    }
    this.sid = sid
  }

  get(record: { readonly t: string; readonly id: string }): Payload | undefined {
    return this.records.get(keyOf(record))
  }
}

/** Says how the records of `keys` differ in two copies, in a sentence; `undefined` if they do not. */
export function differenceOf(
  one: readonly [name: string, copy: Copy],
  other: readonly [name: string, copy: Copy],
  keys: Iterable<string>,
): string | undefined {
  const [nameA, a] = one
  const [nameB, b] = other
  for (const key of keys) {
    const [inA, inB] = [a.records.get(key), b.records.get(key)]
    if (jsonEqual(inA, inB)) continue
    // A removal that rows cannot show.
    if (inA === undefined && b.hasRows) continue
    if (inB === undefined && a.hasRows) continue
    return `${nameOf(key)} ${stateOf(inA)} in ${nameA}, and ${stateOf(inB)} in ${nameB}.`
  }
  return undefined
}

/** Says how a record differs from the fields that were sent; the server may have added others. */
export function missingIn(found: Payload | undefined, sent: Payload | undefined): string | undefined {
  if (sent === undefined) return found && `The record is there: ${short(found)}.`
  if (found === undefined) return 'The record is not there.'
  const field = Object.keys(sent).find(
    (name) => !Object.hasOwn(found, name) || !jsonEqual(found[name], sent[name]),
  )
  if (field === undefined) return undefined
  const is = Object.hasOwn(found, field) ? short(found[field]) : 'missing'
  return `The field \`${field}\` is ${is}, not ${short(sent[field])}.`
}

function nameOf(key: string): string {
  const [t, id]: readonly string[] = JSON.parse(key)
  return `${t} ${id}`
}

function stateOf(fields: Payload | undefined): string {
  return fields === undefined ? 'is absent' : `is ${short(fields)}`
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing'
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
