import { applyOp, type RowChange, type RowSource, type RowsOfType, reuse } from '../protocol/fold.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'

/** A transaction whose ops are shown before the server's data holds them. */
export interface PendingOps {
  readonly id: string
  readonly ops: readonly TxOp[]
}

/** What is laid over the confirmed rows from now on, and what no longer is. */
export interface OverlayChange {
  readonly lay?: readonly PendingOps[]
  /** The ids of transactions. */
  readonly lift?: Iterable<string>
}

interface Layer {
  readonly tx: string
  readonly op: TxOp
}

/** One record that pending transactions touch. */
interface Covered {
  readonly t: string
  readonly id: string
  confirmed: WireRow | undefined
  /** In the order of the transactions. */
  layers: Layer[]
  shown: WireRow | undefined
}

/** Pending transactions, laid over the confirmed rows: what is shown is the one with the others on top, per field. */
export class Overlay {
  /** By type and id apart: a key made of both would have to be made for every row that is looked at. */
  readonly #covered = new Map<string, Map<string, Covered>>()
  /** What each transaction covers. */
  readonly #touched = new Map<string, readonly Covered[]>()

  /** The confirmed rows of `t`, where those that are `shown` lie over them. */
  under(t: string, shown: RowsOfType): RowsOfType {
    const byId = this.#covered.get(t)
    if (!byId || byId.size === 0) return shown
    const get = (id: string) => {
      const covered = byId.get(id)
      return covered ? covered.confirmed : shown.get(id)
    }
    return { get }
  }

  /** The row of `t` and `id` below the transaction `tx`: as it is confirmed, with the transactions before `tx` on top. */
  below(tx: string, t: string, id: string): WireRow | undefined {
    const { confirmed, layers = [] } = this.#at(t, id) ?? {}
    const end = layers.findIndex((layer) => layer.tx === tx)
    return layers.slice(0, end < 0 ? layers.length : end).reduce((row, { op }) => layOp(row, op), confirmed)
  }

  covers(t: string, id: string): boolean {
    return this.#at(t, id) !== undefined
  }

  /** The records of `t` that are covered. */
  of(t: string): Iterable<Pick<Covered, 'confirmed'>> {
    return this.#covered.get(t)?.values() ?? []
  }

  /** What becomes of the rows that are shown when the confirmed ones change, and transactions are lifted, in one step. */
  settle(changes: readonly RowChange[], lift: Iterable<string> = []): readonly RowChange[] {
    const changed = new Set<Covered>()
    const free = changes.filter(({ t, id, after }) => {
      const covered = this.#at(t, id)
      if (!covered) return true
      covered.confirmed = after
      changed.add(covered)
      return false
    })
    for (const tx of lift) {
      for (const covered of this.#touched.get(tx) ?? []) {
        covered.layers = covered.layers.filter((layer) => layer.tx !== tx)
        changed.add(covered)
      }
      this.#touched.delete(tx)
    }
    return [...free, ...this.#showAll(changed)]
  }

  /** Lays transactions over `shown`, in their order. */
  lay(transactions: readonly PendingOps[], shown: RowSource): readonly RowChange[] {
    const changed = new Map<Covered, WireRow | undefined>()
    for (const { id: tx, ops } of transactions) {
      const touched = ops.map((op) => {
        const covered = this.#cover(op, shown)
        if (!changed.has(covered)) changed.set(covered, covered.shown)
        covered.layers.push({ tx, op })
        covered.shown = layOp(covered.shown, op)
        return covered
      })
      this.#touched.set(tx, touched)
    }
    return Array.from(changed, ([covered, before]) => changeOf(covered, before, covered.shown))
  }

  /** Other rows, over which nothing is laid yet, stand in place of the confirmed ones of `types`: what is shown over them. */
  rebase(confirmed: RowSource, types: Iterable<string> = this.#covered.keys()): readonly RowChange[] {
    const all = Array.from(types, (t) => [...(this.#covered.get(t)?.values() ?? [])]).flat()
    return all.map((covered) => {
      covered.confirmed = confirmed.of(covered.t).get(covered.id)
      return { ...this.#show(covered), before: covered.confirmed }
    })
  }

  #at(t: string, id: string): Covered | undefined {
    return this.#covered.get(t)?.get(id)
  }

  #cover({ t, id }: TxOp, shown: RowSource): Covered {
    const byId = this.#covered.get(t) ?? new Map<string, Covered>()
    this.#covered.set(t, byId)
    const known = byId.get(id)
    if (known) return known
    // What nothing covers is shown as it is confirmed.
    const row = shown.of(t).get(id)
    const covered: Covered = { t, id, confirmed: row, layers: [], shown: row }
    byId.set(id, covered)
    return covered
  }

  #showAll(covered: Iterable<Covered>): readonly RowChange[] {
    return Array.from(covered, (one) => this.#show(one))
  }

  #show(covered: Covered): RowChange {
    const { t, id, confirmed, layers, shown } = covered
    if (layers.length === 0) this.#covered.get(t)?.delete(id)
    const now = layers.reduce((row, { op }) => layOp(row, op), confirmed)
    return changeOf(covered, shown, now)
  }
}

/** Shows `now` in place of `before`. */
function changeOf(covered: Covered, before: WireRow | undefined, now: WireRow | undefined): RowChange {
  const { t, id } = covered
  const after = now && reuse(before, now)
  covered.shown = after
  return { t, id, before, after }
}

/** What one op shows over a row: one that was inserted elsewhere meanwhile is shown as it is there. */
function layOp(row: WireRow | undefined, op: TxOp): WireRow | undefined {
  return op.op === 'i' && row && !op.put ? row : applyOp(row, op)
}
