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

  /** Those that change the record which `op` changes. */
  of(op: TxOp): Iterable<LocalTransaction> {
    return this.#all.get(keyOf(op)) ?? []
  }

  /** The ids of the pending ones that change, with an op of `theirs`, a record which one of `ops` changes. */
  pendingOn(ops: readonly TxOp[], theirs: (record: OutboxRecord) => readonly TxOp[]): readonly string[] {
    const keys = new Set(ops.map(keyOf))
    const near = new Set([...keys].flatMap((key) => [...(this.#all.get(key) ?? [])]))
    return [...near]
      .filter(({ state, record }) => state !== 'rejected' && theirs(record).some((op) => keys.has(keyOf(op))))
      .map(({ id }) => id)
      .sort()
  }
}

/** The ops of a transaction that add a record: what puts one that was there only changes it. */
export function additionsOf({ ops, before }: OutboxRecord): readonly TxOp[] {
  const there = new Set(before.filter(({ p }) => p).map(keyOf))
  return ops.filter((op) => op.op === 'i' && !there.has(keyOf(op)))
}

function keyOf({ t, id }: TxOp | RecordImage): string {
  return rowKey(t, id)
}
