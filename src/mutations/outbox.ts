import { Emitter, type Unsubscribe } from '../base/emitter.ts'
import type { RejectedError } from '../base/errors.ts'
import type { TxCodec, TxOp, WireTransaction } from '../protocol/tx.ts'
import { additionsOf, ByRecord } from './by-record.ts'
import { Results } from './results.ts'
import type { LocalTransaction } from './transaction.ts'

/** The approximate maximum size of a request, in characters. */
const maxChars = 256_000

/** The transactions that the data does not contain yet, in order, and the rejected ones. */
export class Outbox {
  readonly results = new Results()
  readonly #all = new Map<string, LocalTransaction>()
  /** The highest id that was ever added. */
  #highest = ''
  readonly #rejected = new Set<LocalTransaction>()
  #waitsForData = false
  readonly #byRecord = new ByRecord()
  /**
   * The ids of all transactions that are in the outbox, or were and may still be on the disk: for them, memory is more
   * recent than the disk.
   */
  readonly #known = new Set<string>()
  readonly #emitter: Emitter<{ change: undefined }>
  readonly #onChange: () => void
  #isChanged = false
  /** The transactions whose state has changed since the last `notify`. */
  readonly #changed = new Set<LocalTransaction>()

  /** `onChange`: called after each change. `notify` is to be called some time later. */
  constructor(onListenerError: (error: unknown) => void, onChange: () => void) {
    this.#emitter = new Emitter(onListenerError)
    this.#onChange = onChange
  }

  /** Calls `listener` when a transaction is added or removed, or its state changes. */
  subscribe(listener: () => void): Unsubscribe {
    return this.#emitter.on('change', listener)
  }

  /** Something that subscribers read has changed. `transaction`: its state has changed. */
  touch(transaction?: LocalTransaction): void {
    this.#isChanged = true
    if (transaction) this.#changed.add(transaction)
    this.#onChange()
  }

  /** Calls the subscribers of the outbox and of its transactions, if anything has changed since the last call. */
  notify(): void {
    if (!this.#isChanged) return
    this.#isChanged = false
    const changed = [...this.#changed]
    this.#changed.clear()
    this.#emitter.emit('change', undefined)
    for (const transaction of changed) transaction.notify()
  }

  /** Whether the last `batch` has left out an undo of which the data did not contain what it takes back. */
  get waitsForData(): boolean {
    return this.#waitsForData
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

  #add(transaction: LocalTransaction): void {
    this.#all.set(transaction.id, transaction)
    if (transaction.id > this.#highest) this.#highest = transaction.id
    this.#known.add(transaction.id)
    this.#byRecord.add(transaction)
    if (transaction.state === 'accepted') this.results.add(transaction, transaction.record.sid)
    if (transaction.state === 'rejected') this.#rejected.add(transaction)
    this.touch()
  }

  /** Whether a transaction of this id is or was in the outbox. */
  knows(id: string): boolean {
    return this.#known.has(id)
  }

  /** Forgets ids that are neither in the outbox nor in `stored`, the ids of all transactions on the disk. */
  forgetAllBut(stored: ReadonlySet<string>): void {
    for (const id of this.#known) if (!stored.has(id) && !this.#all.has(id)) this.#known.delete(id)
  }

  /** Adds transactions in the order of their ids. Returns all transactions from the first added one on, in order. */
  insert(added: readonly LocalTransaction[]): readonly LocalTransaction[] {
    const first = added.map(({ id }) => id).sort()[0]
    if (first === undefined) return []
    const existing = first > this.#highest ? [] : this.list()
    const moved = [...existing, ...added].filter(({ id }) => id >= first).sort(byId)
    for (const transaction of moved) {
      const isKnown = this.#all.delete(transaction.id)
      if (isKnown) this.#all.set(transaction.id, transaction)
      else this.#add(transaction)
    }
    return moved
  }

  remove(transaction: LocalTransaction): void {
    this.#all.delete(transaction.id)
    this.#rejected.delete(transaction)
    this.#byRecord.remove(transaction)
    this.results.remove(transaction)
    this.touch()
  }

  /** Whether no transaction with a higher id was ever added. */
  isNewest({ id }: LocalTransaction): boolean {
    return id === this.#highest
  }

  /** The ids of pending transactions that the conditional `ops` build on. */
  basesOf(ops: readonly TxOp[]): readonly string[] {
    return this.#byRecord.pendingOn(
      ops.filter(({ unchangedSince }) => unchangedSince !== undefined),
      (record) => record.ops,
    )
  }

  /**
   * The ids of pending transactions that add a record which `ops` change or remove: the server has no such record
   * without them.
   */
  inserting(ops: readonly TxOp[]): readonly string[] {
    return this.#byRecord.pendingOn(
      ops.filter(({ op }) => op !== 'i'),
      additionsOf,
    )
  }

  /**
   * The transactions to send in the next request, at most `limit`. A transaction that is not durable yet blocks all
   * later ones, and so does an undo of which the data does not contain what it takes back.
   */
  batch(codec: TxCodec, limit: number): readonly LocalTransaction[] {
    this.#waitsForData = false
    const batch: LocalTransaction[] = []
    const ids = new Set<string>()
    let chars = 0
    for (const transaction of this.#all.values()) {
      if (transaction.state === 'writing' || batch.length + 1 > limit) break
      if (transaction.state !== 'queued') continue
      this.#waitsForData = this.#isEarly(transaction)
      if (this.#waitsForData) break
      const wire = wireOf(transaction)
      if (!codec.requires && wire.requires?.some((id) => ids.has(id))) break
      chars += JSON.stringify(wire.ops).length
      if (batch.length > 0 && chars > maxChars) break
      batch.push(transaction)
      ids.add(transaction.id)
    }
    return batch
  }

  /**
   * Whether an undo has to wait until the data contains what it takes back: the server may have changed the write, and
   * `was` has to name the values that the record holds.
   */
  #isEarly({ record, wasSent }: LocalTransaction): boolean {
    const isAwaited = (id: string) => (this.#all.get(id)?.state ?? 'rejected') !== 'rejected'
    return record.isUndo === true && !wasSent && record.requires.some(isAwaited)
  }

  /**
   * Marks `transaction` as accepted at `sid` in the history `epoch`; `isOver`: see {@link Results.add}. Returns whether
   * its state has changed.
   */
  accept(transaction: LocalTransaction, sid: number, epoch: string | undefined, isOver?: boolean): boolean {
    if (!transaction.dispatch({ type: 'accept', sid, epoch })) return false
    this.results.add(transaction, sid, isOver)
    return true
  }

  /**
   * The accepted transactions that the data contains, as {@link Results.shownAt} decides. A transaction waits for
   * earlier ones on the same records: their updates would hide its result.
   */
  shownAt(sid: number, results: number): readonly LocalTransaction[] {
    const shown = new Set<LocalTransaction>()
    for (const transaction of [...this.results.shownAt('accepted', sid, results)].sort(byId)) {
      if (!this.#isCovered(transaction, shown)) shown.add(transaction)
    }
    return [...shown]
  }

  /** `transaction` and, in order, all transactions without a result that require it, directly or not. */
  requiring(transaction: LocalTransaction): readonly LocalTransaction[] {
    const ids = new Set([transaction.id])
    const found = [transaction]
    for (const one of this.#all.values()) {
      if (!one.record.requires.some((id) => ids.has(id)) || !hasNoResult(one)) continue
      ids.add(one.id)
      found.push(one)
    }
    return found
  }

  reject(transaction: LocalTransaction, error: RejectedError): boolean {
    if (!hasNoResult(transaction)) return false
    // Add it first: a listener of the state may already retry it.
    this.#rejected.add(transaction)
    return transaction.dispatch({ type: 'reject', error })
  }

  /**
   * Whether an earlier transaction that is not among `gone` changes a record of this one. An unsent transaction does
   * not count: on the server it comes after this one.
   */
  #isCovered({ id, record }: LocalTransaction, gone: ReadonlySet<LocalTransaction>): boolean {
    for (const op of record.ops) {
      for (const other of this.#byRecord.of(op)) {
        if (other.id < id && other.wasSent && other.state !== 'rejected' && !gone.has(other)) return true
      }
    }
    return false
  }
}

function byId(a: LocalTransaction, b: LocalTransaction): number {
  return a.id < b.id ? -1 : 1
}

/** Whether the server has not returned a result yet. */
export function hasNoResult({ state }: LocalTransaction): boolean {
  return state === 'writing' || state === 'queued' || state === 'sending'
}

/** Whether the server cannot have it, so that it can be cancelled without an inverse transaction. */
export function isUnsent({ state, wasSent }: LocalTransaction): boolean {
  return (state === 'writing' || state === 'queued') && !wasSent
}

/** Whether the data contains the transaction or may come to contain it. */
export function isSent({ state, wasSent }: LocalTransaction): boolean {
  return (
    state === 'accepted' || state === 'synced' || (wasSent && (state === 'sending' || state === 'queued'))
  )
}

/** The transaction in the format of the wire. */
export function wireOf({ record }: LocalTransaction): WireTransaction {
  const { id, since, epoch, ops, sent = ops, bases, requires } = record
  return {
    id,
    since,
    epoch,
    ops: [...sent],
    ...(bases.length > 0 && { bases: [...bases] }),
    ...(requires.length > 0 && { requires: [...requires] }),
  }
}
