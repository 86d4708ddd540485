import { keyOf, type RowChange } from '../protocol/fold.ts'
import type { DataRecord, Records } from './record.ts'

export interface RecordChange {
  /** Any type, including types without a model. */
  readonly type: string
  readonly id: string
  /** The record before the change; `undefined` if the record did not exist. */
  readonly before: DataRecord | undefined
  /** The record after the change; `undefined` if the record was removed. */
  readonly after: DataRecord | undefined
  /** When the change was made, in ms since the epoch. Absent if the server does not say. */
  readonly at?: number | undefined
}

/** A change of the visible data. `snapshot`: all of it may be different. */
export type ShownChange =
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'delta' | 'mutation'; readonly changes: readonly RecordChange[] }

/** Collects the changes of shown rows from one commit to the next. */
export class ShownChanges {
  #kind: ShownChange['kind'] = 'mutation'
  #changes: RowChange[] = []

  add(kind: ShownChange['kind'], changes: readonly RowChange[]): void {
    if (kind === 'snapshot') this.#changes = []
    if (this.#kind === 'snapshot') return
    if (kind !== 'mutation') this.#kind = kind
    for (const change of changes) this.#changes.push(change)
  }

  /**
   * Returns what has changed since the last call; `undefined` if no record differs. Without `records`, forgets what has
   * changed.
   */
  take(records: Records | undefined): ShownChange | undefined {
    const [kind, rows] = [this.#kind, this.#changes]
    this.#kind = 'mutation'
    this.#changes = []
    if (!records) return undefined
    if (kind === 'snapshot') return { kind }
    const merged = new Map<string, RowChange>()
    for (const row of rows) {
      const key = keyOf(row)
      const { before, at } = merged.get(key) ?? row
      merged.set(key, { ...row, before, at: row.at ?? at })
    }
    const changes = [...merged.values()]
      .filter(({ before, after }) => before?.p !== after?.p)
      .map(({ t: type, id, before, after, at }) => ({
        type,
        id,
        before: before && records.of(before),
        after: after && records.of(after),
        ...(at !== undefined && { at }),
      }))
    return changes.length > 0 ? { kind, changes } : undefined
  }
}
