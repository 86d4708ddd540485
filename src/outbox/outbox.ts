import { Emitter, type Undo } from '../base/emitter.ts'
import { RejectedError } from '../base/errors.ts'
import { rowKey } from '../protocol/fold.ts'
import type { TxCodec, TxOp, WireTransaction } from '../protocol/tx.ts'
import type { LocalTransaction } from './transaction.ts'

/** A request is filled up to about so many characters. */
const mostChars = 256_000

/** The transactions that have not settled in the data yet, in their order, and those that were rejected. */
export class Outbox {
  readonly #all = new Map<string, LocalTransaction>()
  /** How many transactions the server has accepted, ever: what was accepted before a moment is told by it. */
  #acceptances = 0
  readonly #acceptedAs = new Map<string, number>()
  /** Those that are accepted, and wait to be seen. */
  readonly #accepted = new Set<LocalTransaction>()
  readonly #rejected = new Set<LocalTransaction>()
  readonly #coalescing = new Map<string, LocalTransaction>()
  readonly #byRecord = new Map<string, Set<LocalTransaction>>()
  readonly #emitter: Emitter<{ change: undefined }>

  constructor(onListenerError: (error: unknown) => void) {
    this.#emitter = new Emitter(onListenerError)
  }

  /** Calls `listener` when a transaction comes, goes, or is in another state. */
  subscribe(listener: () => void): Undo {
    return this.#emitter.on('change', listener)
  }

  /** To be called when the state of one is another. */
  tell(): void {
    this.#emitter.emit('change', undefined)
  }

  get pending(): number {
    return this.#all.size - this.#rejected.size
  }

  get rejected(): number {
    return this.#rejected.size
  }

  get(id: string): LocalTransaction | undefined {
    return this.#all.get(id)
  }

  list(): readonly LocalTransaction[] {
    return [...this.#all.values()]
  }

  /** Adds `transaction` behind the others. */
  add(transaction: LocalTransaction): void {
    this.#all.set(transaction.id, transaction)
    const { coalesce, ops } = transaction.record
    if (coalesce !== undefined) this.#coalescing.set(coalesce, transaction)
    for (const { t, id } of ops) {
      const key = rowKey(t, id)
      this.#byRecord.set(key, (this.#byRecord.get(key) ?? new Set()).add(transaction))
    }
    if (transaction.state === 'accepted') this.#noteAccepted(transaction)
    if (transaction.state === 'rejected') this.#rejected.add(transaction)
    this.tell()
  }

  remove(transaction: LocalTransaction): void {
    this.#all.delete(transaction.id)
    this.#accepted.delete(transaction)
    this.#acceptedAs.delete(transaction.id)
    this.#rejected.delete(transaction)
    const { coalesce, ops } = transaction.record
    if (coalesce !== undefined && this.#coalescing.get(coalesce) === transaction) {
      this.#coalescing.delete(coalesce)
    }
    for (const { t, id } of ops) {
      const key = rowKey(t, id)
      const rest = this.#byRecord.get(key)
      rest?.delete(transaction)
      if (rest?.size === 0) this.#byRecord.delete(key)
    }
    this.tell()
  }

  /** The one that another of the same key takes the place of. */
  replaceable(key: string | undefined): LocalTransaction | undefined {
    const transaction = key === undefined ? undefined : this.#coalescing.get(key)
    return transaction && isUnsent(transaction) ? transaction : undefined
  }

  /** The ids of the pending ones on top of which those of `ops` are made that have a condition. */
  basesOf(ops: readonly TxOp[]): readonly string[] {
    return this.#touching(
      ops.filter(({ unchangedSince }) => unchangedSince !== undefined),
      () => true,
    )
  }

  /** The ids of the pending ones that add a record which `ops` change: without them the server has none. */
  inserting(ops: readonly TxOp[]): readonly string[] {
    return this.#touching(
      ops.filter(({ op }) => op !== 'i'),
      ({ op }) => op === 'i',
    )
  }

  /** The next ones to be sent in one request, `limit` at most. What is not durable yet holds up those behind it. */
  batch(codec: TxCodec, limit: number): readonly LocalTransaction[] {
    const batch: LocalTransaction[] = []
    const ids = new Set<string>()
    let chars = 0
    for (const transaction of this.#all.values()) {
      if (transaction.state === 'writing' || batch.length === limit) break
      if (transaction.state !== 'queued') continue
      const wire = wireOf(transaction)
      if (!codec.requires && wire.requires?.some((id) => ids.has(id))) break
      chars += JSON.stringify(wire.ops).length
      if (batch.length > 0 && chars > mostChars) break
      batch.push(transaction)
      ids.add(transaction.id)
    }
    return batch
  }

  accept(transaction: LocalTransaction, sid: number): boolean {
    if (!transaction.dispatch({ type: 'accept', sid })) return false
    this.#noteAccepted(transaction)
    return true
  }

  /** Counts the acceptances; what a fetch brings that began at this number shows all of them. */
  get acceptances(): number {
    return this.#acceptances
  }

  /** The accepted ones that the data shows, once it is proven up to `sid`, by a fetch that began at `acceptances`. */
  shownAt(sid: number, acceptances: number): readonly LocalTransaction[] {
    return [...this.#accepted].filter(
      ({ id, record }) =>
        (record.sid ?? Number.POSITIVE_INFINITY) <= sid ||
        (this.#acceptedAs.get(id) ?? Number.POSITIVE_INFINITY) <= acceptances,
    )
  }

  /** Rejects `transaction` and all that require it. Gives those that it rejected. */
  reject(transaction: LocalTransaction, error: RejectedError): readonly LocalTransaction[] {
    if (!transaction.dispatch({ type: 'reject', error })) return []
    this.#rejected.add(transaction)
    const dependents = this.list().filter(({ record }) => record.requires.includes(transaction.id))
    const because = `It requires another transaction that was rejected (${error.reason}).`
    return [
      transaction,
      ...dependents.flatMap((one) => this.reject(one, new RejectedError('dependency_rejected', because))),
    ]
  }

  /** The server's history is another one: what it had accepted is sent again. Gives what was. */
  requeue(): readonly LocalTransaction[] {
    const again = [...this.#accepted].filter((transaction) => transaction.dispatch({ type: 'requeue' }))
    this.#accepted.clear()
    this.#acceptedAs.clear()
    return again
  }

  #touching(ops: readonly TxOp[], matches: (theirs: TxOp) => boolean): readonly string[] {
    const found = new Set<string>()
    for (const { t, id } of ops) {
      for (const { id: tx, record, state } of this.#byRecord.get(rowKey(t, id)) ?? []) {
        const isOfRecord = (op: TxOp) => op.t === t && op.id === id && matches(op)
        if (state !== 'rejected' && record.ops.some(isOfRecord)) found.add(tx)
      }
    }
    return [...found].sort()
  }

  #noteAccepted(transaction: LocalTransaction): void {
    this.#acceptances += 1
    this.#acceptedAs.set(transaction.id, this.#acceptances)
    this.#accepted.add(transaction)
  }
}

/** Whether it can be taken back without a trace. */
export function isUnsent({ state }: LocalTransaction): boolean {
  return state === 'writing' || state === 'queued'
}

/** Where the data can come to show it. */
export function isSent({ state }: LocalTransaction): boolean {
  return state === 'sending' || state === 'accepted' || state === 'synced'
}

/** As it is sent. */
export function wireOf({ record }: LocalTransaction): WireTransaction {
  const { id, since, ops, bases, requires } = record
  return {
    id,
    since,
    ops: [...ops],
    ...(bases.length > 0 && { bases: [...bases] }),
    ...(requires.length > 0 && { requires: [...requires] }),
  }
}
