import type { OutboxRecord } from '../persistence/outbox.ts'
import { keyOf } from '../protocol/fold.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { LocalTransaction } from './transaction.ts'

/** The transactions that change each record, in the order in which they were added here. */
export class ByRecord {
  readonly #all = new Map<string, Set<LocalTransaction>>()
  /** Those that add the record. */
  readonly #adding = new Map<string, Set<LocalTransaction>>()

  add(transaction: LocalTransaction): void {
    const { record } = transaction
    for (const op of record.ops) addTo(this.#all, keyOf(op), transaction)
    for (const op of additionsOf(record)) addTo(this.#adding, keyOf(op), transaction)
  }

  remove(transaction: LocalTransaction): void {
    for (const key of transaction.record.ops.map(keyOf)) {
      removeFrom(this.#all, key, transaction)
      removeFrom(this.#adding, key, transaction)
    }
  }

  /** The transactions that change the record of `key`, from `keyOf`. */
  at(key: string): Iterable<LocalTransaction> {
    return this.#all.get(key) ?? []
  }

  /** The transactions that change the record of `op`. */
  of(op: TxOp): Iterable<LocalTransaction> {
    return this.at(keyOf(op))
  }

  /** The ids, sorted, of pending transactions that change a record of `ops`. */
  changing(ops: readonly TxOp[]): readonly string[] {
    return pendingIn(this.#all, ops)
  }

  /** The ids, sorted, of pending transactions that add a record of `ops`. */
  adding(ops: readonly TxOp[]): readonly string[] {
    return pendingIn(this.#adding, ops)
  }
}

type Index = Map<string, Set<LocalTransaction>>

function addTo(index: Index, key: string, transaction: LocalTransaction): void {
  index.set(key, (index.get(key) ?? new Set()).add(transaction))
}

function removeFrom(index: Index, key: string, transaction: LocalTransaction): void {
  const rest = index.get(key)
  rest?.delete(transaction)
  if (rest?.size === 0) index.delete(key)
}

function pendingIn(index: Index, ops: readonly TxOp[]): readonly string[] {
  const found = new Set<string>()
  for (const key of new Set(ops.map(keyOf))) {
    for (const { state, id } of index.get(key) ?? []) if (state !== 'rejected') found.add(id)
  }
  return [...found].sort()
}

/** The ops of a transaction that add a record. A `put` of a record that existed only changes it. */
function additionsOf({ ops, before }: OutboxRecord): readonly TxOp[] {
  const existing = new Set(before.filter(({ p }) => p).map(keyOf))
  return ops.filter((op) => op.op === 'i' && !existing.has(keyOf(op)))
}
