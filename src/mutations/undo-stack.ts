import { hasFailed } from './links.ts'
import type { LocalTransaction } from './transaction.ts'

/** The maximum number of steps that can be undone. */
const maxSteps = 100

/** A transaction that the user made. */
export interface UndoEntry {
  readonly transaction: LocalTransaction
  /**
   * The transaction that took `transaction` back; `undefined` if that was never sent or there was nothing to take back.
   */
  inverse?: LocalTransaction | undefined
}

/** One step of the user. Transactions of the same group are undone and redone together. */
interface Step {
  readonly group: string | undefined
  readonly entries: UndoEntry[]
}

/** Makes the transactions that redo undone steps. */
export interface UndoHost {
  /** Makes a new transaction with the effects of a cancelled one. */
  again(cancelled: LocalTransaction): LocalTransaction
  /** Called when `canUndo` or `canRedo` may have changed. */
  changed(): void
}

/** The steps that the user of one client has made and undone. They are kept in memory until the client is closed. */
export class UndoStack {
  readonly #host: UndoHost
  readonly #done: Step[] = []
  #undone: Step[] = []
  #running: Promise<void> | undefined

  constructor(host: UndoHost) {
    this.#host = host
  }

  get canUndo(): boolean {
    return lastWith(isDone, this.#done) !== undefined
  }

  get canRedo(): boolean {
    return lastWith(isUndone, this.#undone) !== undefined
  }

  /** Adds a transaction that the user made, unless it writes nothing. After that, nothing can be redone. */
  note(transaction: LocalTransaction): void {
    if (isEmpty(transaction)) return
    const { group } = transaction.record
    void this.#enqueue(() => {
      this.#undone = []
      const last = this.#done.at(-1)
      // The writes were added to a transaction that the step has.
      if (last?.entries.some(isOf(transaction))) return
      if (last && group !== undefined && last.group === group) last.entries.push({ transaction })
      else this.#addStep({ group, entries: [{ transaction }] })
    })
  }

  /**
   * Replaces `other`, which was rejected or could not be stored, by `transaction`: in the step of `other`, or in a new
   * step if that step was undone.
   */
  replace(other: LocalTransaction, transaction: LocalTransaction): void {
    void this.#enqueue(() => {
      for (const { entries } of this.#undone) {
        for (const entry of entries) if (entry.inverse === other) entry.inverse = transaction
      }
      // A rejected transaction is still in its step.
      if (lastWith(isOf(transaction), [...this.#done, ...this.#undone])) return
      const done = lastWith(isOf(other), this.#done)
      done?.entries.splice(done.entries.findIndex(isOf(other)), 0, { transaction })
      const undone = lastWith(isOf(other), this.#undone)
      if (undone) this.#addStep({ group: undone.group, entries: [{ transaction }] })
    })
  }

  /**
   * Undoes the last step that is in force. Resolves with `false` if there is none, or if nothing of it can be taken
   * back: the step is then dropped. If it fails, the transactions that
   * are not undone yet stay in the step.
   */
  undo(): Promise<boolean> {
    return this.#enqueue(async () => {
      const step = lastWith(isDone, this.#done)
      if (!step) return false
      const undone: Step = { group: step.group, entries: [] }
      this.#undone.push(undone)
      for (const entry of [...step.entries].reverse()) {
        // The transaction may have been rejected since the step was chosen.
        if (!isDone(entry)) continue
        const { transaction } = entry
        const inverse = await transaction.undo()
        remove(step, entry)
        if (inverse !== false) undone.entries.push({ transaction, inverse })
      }
      return keptIn(this.#undone, undone)
    })
  }

  /** Redoes the step that was undone last, by the same rules. */
  redo(): Promise<boolean> {
    return this.#enqueue(async () => {
      const step = lastWith(isUndone, this.#undone)
      if (!step) return false
      const entries = step.entries.filter(isUndone).reverse()
      const done: Step = { group: step.group, entries: [] }
      this.#addStep(done)
      for (const entry of entries) {
        const { transaction, inverse } = entry
        const redone = isCancelled(entry) ? this.#host.again(transaction) : await inverse?.undo()
        remove(step, entry)
        // If the inverse was never sent, it is cancelled, and the transaction itself is in force again.
        if (redone !== false) done.entries.push({ transaction: redone ?? transaction })
      }
      return keptIn(this.#done, done)
    })
  }

  /** Runs `work` at once, or after the running work, since each call builds on the result of the one before. */
  async #enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.#running ? this.#running.then(work) : work()
    if (!(turn instanceof Promise)) {
      this.#host.changed()
      return turn
    }
    const settled: Promise<void> = turn
      .catch(() => {})
      .then(() => {
        if (this.#running === settled) this.#running = undefined
        this.#host.changed()
      })
    this.#running = settled
    await settled
    return turn
  }

  /** Adds a step. If there are too many, drops the first step that is cancelled, or the first one. */
  #addStep(step: Step): void {
    if (this.#done.length === maxSteps) {
      const cancelled = this.#done.findIndex(({ entries }) => entries.every(isCancelled))
      this.#done.splice(Math.max(cancelled, 0), 1)
    }
    this.#done.push(step)
  }
}

function lastWith(matches: (entry: UndoEntry) => boolean, steps: readonly Step[]): Step | undefined {
  return steps.findLast(({ entries }) => entries.some(matches))
}

/** Whether `step` has entries. If it has none, removes it from `steps`. */
function keptIn(steps: Step[], step: Step): boolean {
  const isKept = step.entries.length > 0
  if (!isKept) steps.splice(steps.indexOf(step), 1)
  return isKept
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

/** Whether the entry can be redone. If the inverse was rejected, the transaction was not undone. */
function isUndone(entry: UndoEntry): boolean {
  return isCancelled(entry) || isInForce(entry.inverse ?? entry.transaction)
}

function isCancelled({ transaction }: UndoEntry): boolean {
  return transaction.state === 'cancelled'
}

function isInForce(transaction: LocalTransaction): boolean {
  return !hasFailed(transaction) && !isEmpty(transaction)
}

function isEmpty({ record }: LocalTransaction): boolean {
  return record.ops.length === 0
}
