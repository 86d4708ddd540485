import type { Commit } from 'instep/server'

/** The fields of a record, without its id and its owner. `undefined`: there is no record. */
export type Row = { readonly [field: string]: number } | undefined

/** Equal for equal rows. */
export function textOf(row: Row): string {
  if (!row) return 'no record'
  const fields = Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{ ${fields.map(([field, value]) => `${field}: ${value}`).join(', ')} }`
}

/** A change of one record, as the service told it. */
export interface Change {
  readonly history: number
  readonly sid: number
  readonly op: 'i' | 'u' | 'd'
  readonly id: string
  readonly before: Row
  readonly after: Row
  /** The transaction that made it; `undefined` for one that the service itself was asked for. */
  readonly tx: string | undefined
}

interface State {
  readonly sid: number
  readonly rows: ReadonlyMap<string, Row>
}

/** One history of the server: from its beginning, or from a restore, to the next restore. */
export class History {
  readonly number: number
  /** The `sid` of each accepted transaction. */
  readonly accepted = new Map<string, number>()
  readonly refused = new Set<string>()
  /** The transactions of users that changed something, in the order in which the server took them. */
  readonly order: string[] = []
  readonly #changes: Pick<Change, 'sid' | 'id' | 'tx'>[] = []
  readonly removals: Pick<Change, 'sid' | 'id' | 'tx'>[] = []
  readonly states: State[] = [{ sid: 0, rows: new Map() }]

  constructor(number: number) {
    this.number = number
  }

  get rows(): ReadonlyMap<string, Row> {
    return this.states.at(-1)?.rows ?? new Map()
  }

  /** The position of the last change of a record. */
  sidOf(id: string): number {
    return this.#changes.findLast((change) => change.id === id)?.sid ?? 0
  }

  /** The transactions that changed a record after `sid`; `undefined` for a change that no user made. */
  changesOf(id: string, sid: number): readonly (string | undefined)[] {
    return this.#changes.filter((change) => change.id === id && change.sid > sid).map(({ tx }) => tx)
  }

  changed(change: Pick<Change, 'sid' | 'id' | 'tx'>): void {
    this.#changes.push(change)
  }

  /** What the record became after the position `sid`. */
  after(sid: number, id: string): readonly Row[] {
    return this.states.filter((state) => state.sid > sid).map(({ rows }) => rows.get(id))
  }

  /** What the record of `change` became after the position `from` and before the change. */
  between(from: number, { sid, id }: Pick<Change, 'sid' | 'id'>): readonly Row[] {
    return this.states.filter((state) => state.sid > from && state.sid < sid).map(({ rows }) => rows.get(id))
  }

  /** A record as it was at the position `sid`. */
  at(sid: number, id: string): Row {
    return this.states.findLast((state) => state.sid <= sid)?.rows.get(id)
  }
}

/** All that the server accepted, in all its histories, told plainly. Each history's number is in a record of its own. */
export class ServerLog {
  readonly histories: History[] = [new History(0)]

  get history(): History {
    return this.histories.at(-1) ?? new History(0)
  }

  begin(): void {
    this.histories.push(new History(this.histories.length))
  }

  /** Takes in what the service tells, and gives its changes of notes. */
  take({ by, changes, sid: last }: Commit): readonly Change[] {
    const { history } = this
    if (by) history.accepted.set(by.tx, last)
    return changes.flatMap(({ frame }) => {
      const { sid, t, id, op } = frame
      const p = op === 'd' ? undefined : rowOf(frame.p)
      const before = history.rows.get(id)
      const after = op === 'u' ? { ...before, ...p } : p
      history.changed({ sid, id, tx: by?.tx })
      if (op === 'd') history.removals.push({ sid, id, tx: by?.tx })
      if (t === 'Note') history.states.push({ sid, rows: new Map(history.rows).set(id, after) })
      return t === 'Note' ? [{ history: history.number, sid, op, id, before, after, tx: by?.tx }] : []
    })
  }

  /** The last removal of the record before `change`. */
  removalBefore({ history, sid, id }: Change): Pick<Change, 'sid' | 'tx'> | undefined {
    return this.histories[history]?.removals.findLast((one) => one.sid < sid && one.id === id)
  }

  wasAccepted(tx: string): boolean {
    return this.acceptedIn(tx).length > 0
  }

  /** The numbers of the histories in which it was accepted. */
  acceptedIn(tx: string): readonly number[] {
    return this.histories.flatMap(({ accepted, number }) => (accepted.has(tx) ? [number] : []))
  }

  /** Whether it has changed something, in any history. */
  hasChanged(tx: string): boolean {
    return this.histories.some(({ order }) => order.includes(tx))
  }
}

/** What is compared of a record: the numbers that somebody wrote. */
export function rowOf(record: object | undefined): Row {
  if (!record) return undefined
  return Object.fromEntries(Object.entries(record).filter(([, value]) => typeof value === 'number'))
}
