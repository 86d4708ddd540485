import { Emitter, type Unsubscribe } from '../base/emitter.ts'
import type { RejectedError } from '../base/errors.ts'
import { maxOps, type TxCodec, type TxOp, type WireTransaction } from '../protocol/tx.ts'
import { additionsOf, ByRecord } from './by-record.ts'
import { joinOps } from './join.ts'
import { Results } from './results.ts'
import type { LocalTransaction } from './transaction.ts'

/** A request is filled up to about so many characters. */
const maxChars = 256_000

/** The transactions that have not settled in the data yet, in their order, and those that were rejected. */
export class Outbox {
  readonly results = new Results()
  readonly #all = new Map<string, LocalTransaction>()
  /** The highest id that was ever here. */
  #highest = ''
  readonly #rejected = new Set<LocalTransaction>()
  readonly #byRecord = new ByRecord()
  /** The ids of all that are here, or were and may still be on disk: of these, more is known than the disk says. */
  readonly #known = new Set<string>()
  readonly #emitter: Emitter<{ change: undefined }>

  constructor(onListenerError: (error: unknown) => void) {
    this.#emitter = new Emitter(onListenerError)
  }

  /** Calls `listener` when a transaction comes, goes, or is in another state. */
  subscribe(listener: () => void): Unsubscribe {
    return this.#emitter.on('change', listener)
  }

  /** To be called when one has come or gone, or is in another state. */
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

  #add(transaction: LocalTransaction): void {
    this.#all.set(transaction.id, transaction)
    if (transaction.id > this.#highest) this.#highest = transaction.id
    this.#known.add(transaction.id)
    this.#byRecord.add(transaction)
    if (transaction.state === 'accepted') this.results.add(transaction, transaction.record.sid)
    if (transaction.state === 'rejected') this.#rejected.add(transaction)
  }

  /** Whether one of this id is here, or was. */
  knows(id: string): boolean {
    return this.#known.has(id)
  }

  /** `stored` are all that the disk has: of others, nothing has to be known any longer. */
  forgetAllBut(stored: ReadonlySet<string>): void {
    for (const id of this.#known) if (!stored.has(id) && !this.#all.has(id)) this.#known.delete(id)
  }

  /** Adds each in its place, by when it was made. Gives all from the first of them on, in their order. */
  insert(added: readonly LocalTransaction[]): readonly LocalTransaction[] {
    const first = added.map(({ id }) => id).sort()[0]
    if (first === undefined) return []
    const here = first > this.#highest ? [] : this.list()
    const behind = [...here, ...added].filter(({ id }) => id >= first).sort(byId)
    for (const transaction of behind) {
      const isHere = this.#all.delete(transaction.id)
      if (isHere) this.#all.set(transaction.id, transaction)
      else this.#add(transaction)
    }
    return behind
  }

  remove(transaction: LocalTransaction): void {
    this.#all.delete(transaction.id)
    this.#rejected.delete(transaction)
    this.#byRecord.remove(transaction)
    this.results.remove(transaction)
  }

  /** The one that `ops` of the same key are joined with: it is not sent, nothing builds on it, and its history is the same. */
  joinable(
    key: string | undefined,
    epoch: string | undefined,
    ops: readonly TxOp[],
  ): LocalTransaction | undefined {
    if (key === undefined) return undefined
    const last = this.list().findLast(({ record }) => record.coalesce === key)
    // Together they must not be refused for their number.
    const isInPlace = last && !last.record.isUndo && (last.isStored || last.state === 'writing')
    if (!isInPlace || !isUnsent(last) || joinOps(last.record.ops, ops).length > maxOps) return undefined
    const isOther = (last.record.epoch ?? epoch) !== epoch
    if (isOther || this.list().some(({ record }) => record.requires.includes(last.id))) return undefined
    const isLast = (op: TxOp) =>
      [...this.#byRecord.of(op)].every((one) => one.id <= last.id || one.state === 'rejected')
    return last.record.ops.every(isLast) ? last : undefined
  }

  /** The ids of the pending ones on top of which those of `ops` are made that have a condition. */
  basesOf(ops: readonly TxOp[]): readonly string[] {
    return this.#byRecord.pendingOn(
      ops.filter(({ unchangedSince }) => unchangedSince !== undefined),
      (record) => record.ops,
    )
  }

  /** The ids of the pending ones that add a record which `ops` change: without them the server has none. */
  inserting(ops: readonly TxOp[]): readonly string[] {
    return this.#byRecord.pendingOn(
      ops.filter(({ op }) => op !== 'i'),
      additionsOf,
    )
  }

  /** The next ones to be sent in one request, `limit` at most. What is not durable yet holds up those behind it. */
  batch(codec: TxCodec, limit: number): readonly LocalTransaction[] {
    const batch: LocalTransaction[] = []
    const ids = new Set<string>()
    let chars = 0
    for (const transaction of this.#all.values()) {
      if (transaction.state === 'writing' || batch.length + 1 > limit) break
      if (transaction.state !== 'queued') continue
      const wire = wireOf(transaction)
      if (!codec.requires && wire.requires?.some((id) => ids.has(id))) break
      chars += JSON.stringify(wire.ops).length
      if (batch.length > 0 && chars > maxChars) break
      batch.push(transaction)
      ids.add(transaction.id)
    }
    return batch
  }

  /** The server has accepted it at `sid` in the history `epoch`; see `Verdicts.add`. Returns whether its state has changed. */
  accept(transaction: LocalTransaction, sid: number, epoch: string | undefined, isOver?: boolean): boolean {
    if (!transaction.dispatch({ type: 'accept', sid, epoch })) return false
    this.results.add(transaction, sid, isOver)
    return true
  }

  /**
   * The accepted ones that the data shows, by the measure of `Verdicts.shownAt`. One waits for those before it that lie
   * over the same records: they would hide what the data has of it.
   */
  shownAt(sid: number, results: number): readonly LocalTransaction[] {
    const shown = new Set<LocalTransaction>()
    for (const one of [...this.results.shownAt('accepted', sid, results)].sort(byId)) {
      if (!this.#isCovered(one, shown)) shown.add(one)
    }
    return [...shown]
  }

  /** `transaction`, and all that cannot happen without it and are not accepted yet, in their order. */
  requiring(transaction: LocalTransaction): readonly LocalTransaction[] {
    const ids = new Set([transaction.id])
    const found = [transaction]
    for (const one of this.#all.values()) {
      if (!one.record.requires.some((id) => ids.has(id)) || !isUnjudged(one)) continue
      ids.add(one.id)
      found.push(one)
    }
    return found
  }

  reject(transaction: LocalTransaction, error: RejectedError): boolean {
    if (!isUnjudged(transaction)) return false
    // Noted first: whoever hears of it may already try it anew.
    this.#rejected.add(transaction)
    return transaction.dispatch({ type: 'reject', error })
  }

  /**
   * Whether a transaction that was made before it, and is not among `gone`, lies over a record of it. One that was never
   * sent does not count: at the server it comes after this one.
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

/** Whether the server may still refuse it. */
function isUnjudged({ state }: LocalTransaction): boolean {
  return state === 'writing' || state === 'queued' || state === 'sending'
}

/** Whether it can be taken back without a trace. */
export function isUnsent({ state, wasSent }: LocalTransaction): boolean {
  return (state === 'writing' || state === 'queued') && !wasSent
}

/** Whether the data can come to show it. */
export function isSent({ state, wasSent }: LocalTransaction): boolean {
  return (
    state === 'accepted' || state === 'synced' || (wasSent && (state === 'sending' || state === 'queued'))
  )
}

/** As it is sent. */
export function wireOf({ record, sent }: LocalTransaction): WireTransaction {
  const { id, since, epoch, bases, requires } = record
  return {
    id,
    since,
    epoch,
    ops: [...sent],
    ...(bases.length > 0 && { bases: [...bases] }),
    ...(requires.length > 0 && { requires: [...requires] }),
  }
}
