import type { OutboxRecord, RecordImage } from '../persistence/outbox.ts'
import { rowKey } from '../protocol/fold.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { LocalTransaction } from './transaction.ts'

/** The transactions that change each record. */
export class ByRecord {
  readonly #all = new Map<string, Set<LocalTransaction>>()

  add(transaction: LocalTransaction): void {
    for (const key of transaction.record.ops.map(keyOf)) {
      this.#all.set(key, (this.#all.get(key) ?? new Set()).add(transaction))
    }
  }

  remove(transaction: LocalTransaction): void {
    for (const key of transaction.record.ops.map(keyOf)) {
      const rest = this.#all.get(key)
      rest?.delete(transaction)
      if (rest?.size === 0) this.#all.delete(key)
    }
  }

  /** The transactions that change the record of `key`, from `rowKey`. */
  at(key: string): readonly LocalTransaction[] {
    return [...(this.#all.get(key) ?? [])]
  }

  /** The transactions that change the record of `op`. */
  of(op: TxOp): Iterable<LocalTransaction> {
    return this.#all.get(keyOf(op)) ?? []
  }

  /**
   * The ids, sorted, of pending transactions that change a record of `ops`. `opsOf` selects the ops of a transaction
   * that count.
   */
  pendingOn(ops: readonly TxOp[], opsOf: (record: OutboxRecord) => readonly TxOp[]): readonly string[] {
    const keys = new Set(ops.map(keyOf))
    const candidates = new Set([...keys].flatMap((key) => [...(this.#all.get(key) ?? [])]))
    return [...candidates]
      .filter(({ state, record }) => state !== 'rejected' && opsOf(record).some((op) => keys.has(keyOf(op))))
      .map(({ id }) => id)
      .sort()
  }
}

/** The ops of a transaction that add a record. A `put` of a record that existed only changes it. */
export function additionsOf({ ops, before }: OutboxRecord): readonly TxOp[] {
  const existing = new Set(before.filter(({ p }) => p).map(keyOf))
  return ops.filter((op) => op.op === 'i' && !existing.has(keyOf(op)))
}

function keyOf({ t, id }: TxOp | RecordImage): string {
  return rowKey(t, id)
}
