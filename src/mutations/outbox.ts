import { Emitter, type Unsubscribe } from '../base/emitter.ts'
import type { RejectedError } from '../base/errors.ts'
import { isEnd, maxEnds, nextKey, type OutboxEnd, type OutboxEntry } from '../persistence/outbox.ts'
import { noFields } from '../protocol/json.ts'
import type { TxCodec, TxOp, WireTransaction } from '../protocol/tx.ts'
import { ByRecord } from './by-record.ts'
import { Results } from './results.ts'
import type { LocalTransaction } from './transaction.ts'

/** The approximate maximum size of a request, in characters. */
const maxChars = 256_000

/** The maximum number of ids of ended transactions that stay known. Half of them are more than the ends that the disk keeps. */
const maxKnown = 8_000

/** The maximum number of transactions to remember that have changed nothing. */
const maxIdle = 100

/** The transactions that the data does not contain yet, in order, and the rejected ones. */
export class Outbox {
  readonly results = new Results()
  /** The ends that the disk had of the last transactions that were taken back, by id. */
  readonly undone = new Map<string, OutboxEnd>()
  /** The transactions without a result that were never stored. */
  readonly unstored = new Set<LocalTransaction>()
  readonly #all = new Map<string, LocalTransaction>()
  /**
   * Whether other clients may have changed stored transactions without a message. Some of these may have to be sent
   * first: read the disk before more is sent.
   */
  mayDiffer = true
  /** How often the database may have lost transactions, or rejections, since all of this outbox were stored again. */
  lost = 0
  /** See {@link last}. */
  #last: string | undefined
  /** The highest place, see `placeOf`, of all transactions that were ever in the outbox. */
  #highest = ''
  readonly #rejected = new Set<LocalTransaction>()
  /** The transactions that the server could not decide about, with the round in which they were sent. */
  readonly #held = new Map<LocalTransaction, number>()
  #round = 0
  #holdReason: string | undefined
  #waitsForData = false
  readonly #byRecord = new ByRecord()
  /**
   * The ids of all transactions that are in the outbox, or were in it and may still be on the disk. For these, memory
   * is more recent than the disk.
   */
  readonly #known = new Set<string>()
  /**
   * The ids of the last transactions that have left the outbox and changed nothing. Another tab may have undone one of
   * them before it knew that.
   */
  idle: readonly (string | undefined)[] = []
  readonly #emitter: Emitter<{ change: undefined }>
  readonly #onChange: () => void
  #isChanged = false
  /** The transactions whose state has changed since the last `notify`. */
  readonly #changed = new Set<LocalTransaction>()

  /** `onChange`: called after each change. Call `notify` some time later. */
  constructor(onListenerError: (error: unknown) => void, onChange: () => void) {
    this.#emitter = new Emitter(onListenerError)
    this.#onChange = onChange
  }

  /** Calls `listener` when a transaction is added or removed, or its state changes. */
  subscribe(listener: () => void): Unsubscribe {
    return this.#emitter.on('change', listener)
  }

  /** Call when something has changed that subscribers read. `transaction`: it has another state, or is stored now. */
  touch(transaction?: LocalTransaction): void {
    this.#isChanged = true
    if (transaction) {
      this.#changed.add(transaction)
      this.#count(transaction)
    }
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

  /** Whether the last `batch` held back an undo, because the data does not contain the undone transaction yet. */
  get waitsForData(): boolean {
    return this.#waitsForData
  }

  /** Why some transactions wait while others are sent; `undefined` if none does. */
  get holdReason(): string | undefined {
    return this.#held.size > 0 ? this.#holdReason : undefined
  }

  /** Lets a transaction, and those that depend on it, wait until {@link release}. */
  hold(transaction: LocalTransaction, reason: string): void {
    this.#held.set(transaction, this.#round)
    this.#holdReason = reason
    this.touch()
  }

  /** Lets all transactions be sent again. */
  release(): void {
    this.#round += 1
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
    this.#forgetOld()
    if (placeOf(transaction) > this.#highest) this.#highest = placeOf(transaction)
    this.#known.add(transaction.id)
    this.#byRecord.add(transaction)
    if (transaction.state === 'accepted') this.results.add(transaction, transaction.record.sid)
    if (transaction.state === 'rejected') this.#rejected.add(transaction)
    this.#count(transaction)
    this.touch()
  }

  /** Call when the transaction may have been stored, or may have got a result. */
  #count(transaction: LocalTransaction): void {
    if (hasNoResult(transaction) && !transaction.isStored) this.unstored.add(transaction)
    else this.unstored.delete(transaction)
  }

  /** Whether a transaction of this id is or was in the outbox. */
  knows(id: string): boolean {
    return this.#known.has(id)
  }

  /** The disk has `entries`. While it lacks ends, another client may have stored transactions again that had ended. */
  saw(entries: Iterable<OutboxEntry | undefined>): void {
    for (const entry of entries) {
      if (!entry) continue
      if (isEnd(entry) && entry.state !== 'synced') this.undone.set(entry.id, { ...entry, key: undefined })
      else if (this.lost === 0) this.undone.delete(entry.id)
    }
    for (const id of [...this.undone.keys()].slice(0, -maxEnds)) this.undone.delete(id)
  }

  /** Forgets ids that have been known for long: the disk does not keep the ends of these transactions any more. */
  #forgetOld(): void {
    if (this.#known.size < this.#all.size + maxKnown) return
    const ended = [...this.#known].filter((id) => !this.#all.has(id))
    for (const id of ended.slice(0, maxKnown / 2)) this.#known.delete(id)
  }

  /** The highest key on the disk that this client knows of; `undefined` until it has read the disk. */
  get last(): string | undefined {
    return this.#last
  }

  /** Another database is open, in which the transactions get other keys. */
  forgetKeys(): void {
    if (this.#last !== undefined) this.#last = ''
    for (const transaction of this.list()) transaction.amend({ key: undefined })
  }

  /** The disk was read up to the key `last`. */
  hasRead(last: string): void {
    if (last >= (this.#last ?? '')) this.#last = last
  }

  /** Call when an entry is stored under `key`. Returns whether `key` comes after all known keys. */
  follow(key: string | undefined): boolean {
    if (key === undefined || this.#last === undefined || key <= this.#last) return false
    if (key !== nextKey(this.#last)) this.mayDiffer = true
    this.#last = key
    return true
  }

  /**
   * Adds transactions in the order of their keys, and those without a key last. Moves transactions that are in the
   * outbox to their new places. Returns all transactions from the first of `added` on, in order.
   */
  insert(added: readonly LocalTransaction[]): readonly LocalTransaction[] {
    const first = added.map(placeOf).sort()[0]
    if (first === undefined) return []
    const existing = first > this.#highest ? [] : this.list()
    const moved = [...new Set([...existing, ...added])].filter((one) => placeOf(one) >= first).sort(inOrder)
    for (const transaction of moved) {
      const isKnown = this.#all.delete(transaction.id)
      if (isKnown) {
        this.#all.set(transaction.id, transaction)
        this.#byRecord.remove(transaction)
        this.#byRecord.add(transaction)
      } else this.#add(transaction)
    }
    return moved
  }

  remove(transaction: LocalTransaction): void {
    this.#all.delete(transaction.id)
    this.#rejected.delete(transaction)
    this.#held.delete(transaction)
    this.unstored.delete(transaction)
    this.#byRecord.remove(transaction)
    this.results.remove(transaction)
    if (transaction.effects?.length === 0) this.idle = [...this.idle.slice(1 - maxIdle), transaction.id]
    this.touch()
  }

  /** The ids of pending transactions that the conditional `ops` build on. */
  basesOf(ops: readonly TxOp[]): readonly string[] {
    return this.#byRecord.changing(ops.filter(({ unchangedSince }) => unchangedSince !== undefined))
  }

  /**
   * The ids of pending transactions that add a record which `ops` change or remove. Without them, the server has no
   * such record.
   */
  inserting(ops: readonly TxOp[]): readonly string[] {
    return this.#byRecord.adding(ops.filter(({ op }) => op !== 'i'))
  }

  /**
   * The transactions to send in the next request, at most `limit`. A transaction that is not durable yet blocks all
   * later ones. So does an undo if the data does not contain the change that it takes back. One that is held blocks
   * those that require it or change its records. Leaves out transactions of other users than `caller`.
   */
  batch(codec: TxCodec, limit: number, caller: string | undefined): readonly LocalTransaction[] {
    this.#waitsForData = false
    const batch: LocalTransaction[] = []
    const ids = new Set<string>()
    const waiting = new Set<string>()
    let chars = 0
    for (const transaction of this.#all.values()) {
      if (transaction.state === 'writing' || batch.length + 1 > limit) break
      if (transaction.state !== 'queued' || (transaction.record.caller ?? caller) !== caller) continue
      if (this.#isHeld(transaction, waiting)) {
        waiting.add(transaction.id)
        continue
      }
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

  /** `waiting`: the ids of the earlier transactions that are held. */
  #isHeld(transaction: LocalTransaction, waiting: ReadonlySet<string>): boolean {
    if (this.#held.get(transaction) === this.#round) return true
    if (waiting.size === 0) return false
    const { requires, ops } = transaction.record
    const isChanged = (op: TxOp) => [...this.#byRecord.of(op)].some(({ id }) => waiting.has(id))
    return requires.some((id) => waiting.has(id)) || ops.some(isChanged)
  }

  /**
   * Whether an undo has to wait until the data contains the change that it takes back. The server may have altered that
   * change, and `was` has to name the values of the record.
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
    this.#held.delete(transaction)
    this.results.add(transaction, sid, isOver)
    return true
  }

  /**
   * The accepted transactions that the data contains, as {@link Results.shownAt} decides. A transaction waits for
   * earlier ones on the same records: their updates would hide its result.
   */
  shownAt(sid: number, results: number): readonly LocalTransaction[] {
    const shown = new Set<LocalTransaction>()
    for (const transaction of [...this.results.shownAt('accepted', sid, results)].sort(inOrder)) {
      if (!this.#isCovered(transaction, shown)) shown.add(transaction)
    }
    return [...shown]
  }

  /** Whether the server may have a pending transaction that changes the record of `key`. */
  isAwaited(key: string): boolean {
    for (const { wasSent, state } of this.#byRecord.at(key)) if (wasSent && state !== 'rejected') return true
    return false
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
    this.#held.delete(transaction)
    return transaction.dispatch({ type: 'reject', error })
  }

  /**
   * Whether an earlier transaction that is not among `gone` changes a record of this one. An unsent transaction does
   * not count: on the server it comes after this one.
   */
  #isCovered(transaction: LocalTransaction, gone: ReadonlySet<LocalTransaction>): boolean {
    for (const op of transaction.record.ops) {
      for (const other of this.#byRecord.of(op)) {
        if (other === transaction) break
        if (other.wasSent && other.state !== 'rejected' && !gone.has(other)) return true
      }
    }
    return false
  }
}

/**
 * A text that sorts in the order of the transactions. Those without a key come last, in the order in which they were
 * made.
 */
function placeOf({ record: { key, id } }: LocalTransaction): string {
  return key ?? `o${id}`
}

function inOrder(a: LocalTransaction, b: LocalTransaction): number {
  return placeOf(a) < placeOf(b) ? -1 : 1
}

/** Whether the server has not returned a result yet. */
export function hasNoResult({ state }: LocalTransaction): boolean {
  return state === 'writing' || state === 'queued' || state === 'sending'
}

/** Whether the server cannot have the transaction. It can then be cancelled without an inverse transaction. */
export function isUnsent({ state, wasSent }: LocalTransaction): boolean {
  return (state === 'writing' || state === 'queued') && !wasSent
}

/** Whether the server has the transaction, or may have it. */
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
    // The server has the fields of a record that it restores.
    ops: sent.map((op) => (op.op === 'i' && op.restores !== undefined ? { ...op, p: noFields } : op)),
    ...(bases.length > 0 && { bases: [...bases] }),
    ...(requires.length > 0 && { requires: [...requires] }),
  }
}
