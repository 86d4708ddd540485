import type { LocalTransaction } from './transaction.ts'

/** So many steps can be undone. */
const maxSteps = 100

/** A transaction of the user's. */
export interface UndoEntry {
  readonly transaction: LocalTransaction
  /** What took it back; `undefined` where it was never sent, or there was nothing to take back. */
  inverse?: LocalTransaction | undefined
}

/** What the user did at once. Transactions of one group are undone and done again together. */
interface Step {
  readonly group: string | undefined
  readonly entries: UndoEntry[]
}

/** Makes the transactions that do again what was undone. */
export interface UndoHost {
  /** Throws what doing all of `undone` again, in this order, would throw. */
  rehearse(undone: readonly UndoEntry[]): void
  /** Makes a new transaction that does what a cancelled one was to do. */
  again(cancelled: LocalTransaction): LocalTransaction
  /** What can be undone or done again may be another. */
  changed(): void
}

/** What the user of one client did, for undoing it and doing it again. It lives as long as the client. */
export class UndoStack {
  readonly #host: UndoHost
  readonly #done: Step[] = []
  #undone: Step[] = []
  #underWay: Promise<void> | undefined

  constructor(host: UndoHost) {
    this.#host = host
  }

  get canUndo(): boolean {
    return lastWith(isDone, this.#done) !== undefined
  }

  get canRedo(): boolean {
    return lastWith(isUndone, this.#undone) !== undefined
  }

  /** Notes a transaction of the user's, if it writes something. After it, nothing can be done again. */
  note(transaction: LocalTransaction): void {
    if (isEmpty(transaction)) return
    const { group } = transaction.record
    void this.#inTurn(() => {
      this.#undone = []
      this.#dropJoinedWith(transaction)
      const last = this.#done.at(-1)
      if (last && group !== undefined && last.group === group) last.entries.push({ transaction })
      else this.#keep({ group, entries: [{ transaction }] })
    })
  }

  /** `transaction` stands in place of `other`, which was rejected or not stored: beside it, or anew where that was undone. */
  replace(other: LocalTransaction, transaction: LocalTransaction): void {
    void this.#inTurn(() => {
      for (const { entries } of this.#undone) {
        for (const entry of entries) if (entry.inverse === other) entry.inverse = transaction
      }
      // What was rejected has stayed where it was.
      if (lastWith(isOf(transaction), [...this.#done, ...this.#undone])) return
      const done = lastWith(isOf(other), this.#done)
      done?.entries.splice(done.entries.findIndex(isOf(other)), 0, { transaction })
      const undone = lastWith(isOf(other), this.#undone)
      if (undone) this.#keep({ group: undone.group, entries: [{ transaction }] })
    })
  }

  /**
   * Undoes the last step of which something holds. Resolves with whether there was one. Where it fails, what it has not
   * undone stays to be undone.
   */
  undo(): Promise<boolean> {
    return this.#inTurn(async () => {
      const step = lastWith(isDone, this.#done)
      if (!step) return false
      const undone: Step = { group: step.group, entries: [] }
      this.#undone.push(undone)
      for (const entry of [...step.entries].reverse()) {
        // It may have been joined with the one after it.
        if (!isDone(entry)) continue
        const { transaction } = entry
        const inverse = await transaction.undo()
        remove(step, entry)
        undone.entries.push({ transaction, inverse })
      }
      return true
    })
  }

  /** Does the step again that was undone last, by the same rules. */
  redo(): Promise<boolean> {
    return this.#inTurn(async () => {
      const step = lastWith(isUndone, this.#undone)
      if (!step) return false
      const entries = step.entries.filter(isUndone).reverse()
      this.#host.rehearse(entries)
      const done: Step = { group: step.group, entries: [] }
      this.#keep(done)
      for (const entry of entries) {
        const { transaction, inverse } = entry
        const again = isCancelled(entry) ? this.#host.again(transaction) : await inverse?.undo()
        remove(step, entry)
        // Where what took it back was never sent, the transaction itself holds again.
        done.entries.push({ transaction: again ?? transaction })
      }
      return true
    })
  }

  /** At once, or after what is under way: each builds on what the one before has left. */
  async #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.#underWay ? this.#underWay.then(work) : work()
    if (!(turn instanceof Promise)) {
      this.#host.changed()
      return turn
    }
    const over: Promise<void> = turn
      .catch(() => {})
      .then(() => {
        if (this.#underWay === over) this.#underWay = undefined
        this.#host.changed()
      })
    this.#underWay = over
    return turn
  }

  /** Takes out what `transaction` was joined with, and its step where nothing else is in it. */
  #dropJoinedWith({ record: { coalesce } }: LocalTransaction): void {
    if (coalesce === undefined) return
    const isJoined = (entry: UndoEntry) =>
      isCancelled(entry) && entry.transaction.record.coalesce === coalesce
    const at = this.#done.findLastIndex(({ entries }) => entries.some(isJoined))
    const entries = this.#done[at]?.entries ?? []
    entries.splice(entries.findLastIndex(isJoined), 1)
    if (at >= 0 && entries.length === 0) this.#done.splice(at, 1)
  }

  /** What was taken back makes room first. */
  #keep(step: Step): void {
    if (this.#done.length === maxSteps) {
      const over = this.#done.findIndex(({ entries }) => entries.every(isCancelled))
      this.#done.splice(Math.max(over, 0), 1)
    }
    this.#done.push(step)
  }
}

function lastWith(matches: (entry: UndoEntry) => boolean, steps: readonly Step[]): Step | undefined {
  return steps.findLast(({ entries }) => entries.some(matches))
}

function isOf(transaction: LocalTransaction) {
  return (entry: UndoEntry) => entry.transaction === transaction
}

function remove({ entries }: Step, entry: UndoEntry): void {
  entries.splice(entries.indexOf(entry), 1)
}

function isDone({ transaction }: UndoEntry): boolean {
  return isInForce(transaction)
}

/** Whether it can be done again. Where it was taken back, and that was refused, it holds as it is. */
function isUndone(entry: UndoEntry): boolean {
  return isCancelled(entry) || isInForce(entry.inverse ?? entry.transaction)
}

function isCancelled({ transaction }: UndoEntry): boolean {
  return transaction.state === 'cancelled'
}

function isInForce(transaction: LocalTransaction): boolean {
  const { state } = transaction
  const isOver = state === 'failed' || state === 'cancelled' || state === 'rejected' || state === 'discarded'
  return !isOver && !isEmpty(transaction)
}

function isEmpty({ record }: LocalTransaction): boolean {
  return record.ops.length === 0
}
