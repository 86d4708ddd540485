import { type RowChange, type RowSource, type RowsOfType, reuse } from '../protocol/fold.ts'
import { jsonEqual } from '../protocol/json.ts'
import { applyTxOp } from '../protocol/remaining-op.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'

/** A transaction whose ops are shown before the server's data includes them. */
export interface PendingOps {
  readonly id: string
  readonly ops: readonly TxOp[]
}

/** The pending transactions to add to the overlay, and those to remove from it. */
export interface OverlayChange {
  readonly add?: readonly PendingOps[]
  /** The ids of the transactions to remove. */
  readonly remove?: Iterable<string>
}

interface Layer {
  readonly tx: string
  readonly op: TxOp
}

/** One record that pending transactions change. */
interface Covered {
  readonly t: string
  readonly id: string
  confirmed: WireRow | undefined
  /** The ops on the record, in the order of the transactions. */
  layers: Layer[]
  /** `base` with all layers applied. */
  shown: WireRow | undefined
  /** The row below the layers of `shown`. `null`: a layer above the lowest one was removed. */
  base: WireRow | undefined | null
}

/**
 * Optimistic updates: pending transactions on top of the confirmed rows. A shown row is the confirmed row with the ops
 * of all pending transactions applied, per field.
 */
export class Overlay {
  /** By type, then by id. A single map would need a combined key for each row that is read. */
  readonly #covered = new Map<string, Map<string, Covered>>()
  /** The records that each transaction changes. */
  readonly #touched = new Map<string, readonly Covered[]>()

  /** The confirmed rows of `t`, read from the `shown` rows and the confirmed rows under pending transactions. */
  confirmedRows(t: string, shown: RowsOfType): RowsOfType {
    const byId = this.#covered.get(t)
    if (!byId || byId.size === 0) return shown
    const get = (id: string) => {
      const covered = byId.get(id)
      return covered ? covered.confirmed : shown.get(id)
    }
    return { get }
  }

  /** The row before the transaction `tx`: the confirmed row with the transactions before `tx` applied. */
  below(tx: string, t: string, id: string): WireRow | undefined {
    const { confirmed, layers = [] } = this.#at(t, id) ?? {}
    const end = layers.findIndex((layer) => layer.tx === tx)
    return layers
      .slice(0, end < 0 ? layers.length : end)
      .reduce((row, { op }) => applyTxOp(row, op), confirmed)
  }

  covers(t: string, id: string): boolean {
    return this.#at(t, id) !== undefined
  }

  /** The records of `t` that pending transactions change. */
  of(t: string): Iterable<Pick<Covered, 'confirmed'>> {
    return this.#covered.get(t)?.values() ?? []
  }

  /**
   * Applies changes of confirmed rows and removes the transactions `remove`, in one step. Returns the changes of the
   * shown rows.
   */
  settle(changes: readonly RowChange[], remove: Iterable<string> = []): readonly RowChange[] {
    const changed = new Map<Covered, number | undefined>()
    const uncovered = changes.filter(({ t, id, after, at }) => {
      const covered = this.#at(t, id)
      if (!covered) return true
      covered.confirmed = after
      changed.set(covered, at)
      return false
    })
    for (const tx of remove) {
      for (const covered of this.#touched.get(tx) ?? []) {
        removeFrom(covered, tx)
        if (!changed.has(covered)) changed.set(covered, undefined)
      }
      this.#touched.delete(tx)
    }
    return [...uncovered, ...Array.from(changed, ([covered, at]) => ({ ...this.#show(covered), at }))]
  }

  /** Adds transactions on top of `shown`, in their order. Returns the changes of the shown rows. */
  add(transactions: readonly PendingOps[], shown: RowSource): readonly RowChange[] {
    const changed = new Map<Covered, WireRow | undefined>()
    for (const { id: tx, ops } of transactions) {
      const touched = ops.map((op) => {
        const covered = this.#cover(op, shown)
        if (!changed.has(covered)) changed.set(covered, covered.shown)
        covered.layers.push({ tx, op })
        covered.shown = applyTxOp(covered.shown, op)
        return covered
      })
      this.#touched.set(tx, touched)
    }
    return Array.from(changed, ([covered, before]) => changeOf(covered, before, covered.shown))
  }

  /**
   * Replaces the confirmed rows of `types` by `confirmed`, and applies the pending transactions again. Returns the
   * changes from the new confirmed rows to the shown rows.
   */
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
    // No transaction changes this record yet, so the shown row is the confirmed row.
    const row = shown.of(t).get(id)
    const covered: Covered = { t, id, confirmed: row, layers: [], shown: row, base: row }
    byId.set(id, covered)
    return covered
  }

  #show(covered: Covered): RowChange {
    const { t, id, confirmed, layers, shown, base } = covered
    if (layers.length === 0) this.#covered.get(t)?.delete(id)
    // The server has made of the record what the removed layers had made of it. There may be thousands above them.
    const isKept = base && confirmed && base.v === shown?.v && jsonEqual(base.p, confirmed.p)
    const row = isKept
      ? shown && { ...shown, v: confirmed.v }
      : layers.reduce((row, { op }) => applyTxOp(row, op), confirmed)
    covered.base = confirmed
    return changeOf(covered, shown, row)
  }
}

/** Removes the layers of `tx`. Usually they are the lowest: the server has carried them out first. */
function removeFrom(covered: Covered, tx: string): void {
  const { layers } = covered
  for (let [first] = layers; first?.tx === tx; [first] = layers) {
    if (covered.base !== null) covered.base = applyTxOp(covered.base, first.op)
    layers.shift()
  }
  const rest = layers.filter((layer) => layer.tx !== tx)
  if (rest.length < layers.length) covered.base = null
  covered.layers = rest
}

/** Records `row` as the shown row. Keeps `before` if both are equal. */
function changeOf(covered: Covered, before: WireRow | undefined, row: WireRow | undefined): RowChange {
  const { t, id } = covered
  const after = row && reuse(before, row)
  covered.shown = after
  return { t, id, before, after }
}
