import type { Transaction } from 'instep'
import type { Row } from './server-log.ts'
import type { Tab } from './tab.ts'

export type Kind = 'insert' | 'update' | 'put' | 'delete'

/** A transaction of a user's: what was written where, and what the user was told of it. */
export interface Write {
  /** For a reader: `w3`. */
  readonly name: string
  readonly transaction: Transaction
  readonly tab: Tab
  readonly at: number
  readonly kind: Kind
  readonly id: string
  readonly fields: NonNullable<Row>
  /** The record as the tab showed it, and as the server had it at the tab's position. */
  readonly base: Row
  readonly confirmed: Row
  /** Whether it asked the server to refuse it if somebody else had changed the record, and the tab's position by then. */
  readonly ifUnchanged: boolean
  readonly sid: number
  /** The rejected one in whose place it was written. */
  readonly retryOf: Write | undefined
  /** The server's history when it was made. */
  readonly history: number
  /** The history of the data of its tab by then. */
  readonly dataOf: number | undefined
  /** Since when its device was offline by then, and knew it. */
  readonly offlineSince: number | undefined
  /**
   * The record right before the server took it, in each history. Of a `put`, also what the record was since it was made:
   * a delta leaves out what a later `put` replaces, and then the client knows only what was there before.
   */
  readonly befores: Row[]
  /** When its user was told. `stored`: that it is durable, while the server did not have it. */
  told: {
    durable?: number
    stored?: number
    synced?: number
    end?: Transaction['state']
    endAt?: number
  }
  /** Since when the disk has it, and which of all writes it took then. */
  committed: number | undefined
  place: number
  /** Its disk refused it, or did not answer in time: its tab sends it from memory, and stores it later in its place. */
  wasRefused: boolean
  /** When a tab has first seen it in the data. */
  seenAt: number | undefined
  /** No disk and no tab may hold it any more: long since, a tab saw it in the data, and could store that. */
  isGone: boolean
  /** It was undone while the server could not be reached, from before it was made. */
  isTraceless: boolean
  isUndone: boolean
  isDiscarded: boolean
  /** Its user deleted what the browser had stored, and closed the tab that made it. */
  isForgotten: boolean
  /** Since when nobody may send it: its user has signed out. */
  overSince: number | undefined
}

/** What happened to a user's records: a write, or one that was undone or done again. */
export interface Act {
  readonly does: 'write' | 'undo' | 'redo'
  readonly write: Write
  readonly tab: Tab
  /** Of an undo: what the record may have been without the write. */
  readonly without: Row[]
  /** Of an undo: it is surely in force in its tab. */
  isCertain: boolean
  /** Of an undo: whether the user had been told before that the write is in the data. */
  readonly wasSynced: boolean
  /** When it was, and where its tab was then. */
  readonly at: number
  readonly sid: number
}

/** Whether a write says what a field is. */
export function decides({ kind, fields }: Write, field: string): boolean {
  return kind === 'put' || kind === 'insert' || field in fields
}

/** What an act may make of a record. */
export function resultsOf({ does, write, without }: Act, row: Row): readonly Row[] {
  if (does === 'write') return [written(write, row)]
  return does === 'undo' ? unwritten(write, without, row) : rewritten(write, without, row)
}

function written({ kind, fields }: Write, row: Row): Row {
  if (kind === 'delete') return undefined
  if (kind === 'put') return fields
  if (kind === 'insert') return row ?? fields
  return row && { ...row, ...fields }
}

/** Without `write`, as far as it is still there. */
function unwritten(
  { kind, fields, base, befores }: Write,
  without: readonly Row[],
  row: Row,
): readonly Row[] {
  if (kind === 'delete') return row ? [row] : [undefined, base, ...befores, ...without]
  if (!row) return [row]
  const below = [base, ...befores, ...without]
  const isWhole = kind !== 'update' && Object.keys(fields).every((field) => row[field] === fields[field])
  const removed = isWhole && below.includes(undefined) ? [undefined] : []
  // A `put` has taken away the fields that it does not have.
  const all = kind === 'put' ? [...below, row, fields] : [fields]
  const names = new Set(all.flatMap((one) => Object.keys(one ?? {})))
  const rows = fieldwise(names, row, (field) =>
    row[field] === fields[field] ? below.map((one) => one?.[field]) : undefined,
  )
  return [...removed, ...rows]
}

/** With `write` again, where nobody wrote anything else meanwhile. */
function rewritten(
  { kind, fields, base, befores, confirmed }: Write,
  without: readonly Row[],
  row: Row,
): readonly Row[] {
  if (kind === 'delete') return [undefined, row]
  if (!row) return kind === 'update' ? [row] : [row, fields]
  return fieldwise(Object.keys({ ...row, ...fields }), row, (field) => {
    const isAsBefore = [base, confirmed, ...befores, ...without].some((one) => one?.[field] === row[field])
    return isAsBefore ? [row[field], fields[field] ?? (kind === 'put' ? undefined : row[field])] : undefined
  })
}

/** All rows that result where each of `fields` becomes one of `valuesOf` it. */
function fieldwise(
  fields: Iterable<string>,
  row: NonNullable<Row>,
  valuesOf: (field: string) => readonly (number | undefined)[] | undefined,
): readonly Row[] {
  let rows: readonly NonNullable<Row>[] = [row]
  for (const field of fields) {
    const values = valuesOf(field)
    if (!values) continue
    rows = [...new Set(values)].flatMap((value) =>
      rows.map(({ [field]: _, ...rest }) => (value === undefined ? rest : { ...rest, [field]: value })),
    )
  }
  return rows
}
