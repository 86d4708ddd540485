import { rowKey } from '../../../protocol/fold.ts'
import type { SyncFrame } from '../../../protocol/frame.ts'
import type { Payload } from '../../../protocol/json.ts'
import type { TxOp } from '../../../protocol/tx.ts'
import { type Decision, decideOn, type StoredVerdict, tryDraft } from '../decide-on.ts'
import {
  type Draft,
  draft,
  hasChanged,
  type RecordBefore,
  type RemainingOps,
  remainingWith,
} from '../draft.ts'
import type { ClientTransaction, Judge, ReadRecord, Rules, Ruling } from '../log.ts'
import { readWithRemoved } from '../removed-record.ts'
import { RuleFailure, type RuleRunner, RulesLate } from '../rules.ts'

/** A write of the service itself, or a client's transaction, which gets a verdict. */
export interface Write {
  readonly ops: readonly TxOp[]
  readonly judge: Judge
  readonly transaction?: ClientTransaction
}

/** The rules of a transaction failed, so that it has no verdict. */
export interface Undecided {
  readonly failure: RuleFailure
}

export type Outcome = Decision | Undecided

/** Runs the rules of a group. */
export interface GroupRules {
  readonly runner: RuleRunner
  /** Reads a record as it is before the group. */
  readonly read: ReadRecord
}

/** The state of the log before a group of writes. */
export interface GroupBefore {
  readonly head: number
  readonly horizon: number
  /** The state before each op of each write. */
  readonly befores: readonly (readonly RecordBefore[])[]
  /** The stored verdicts on the transactions of the group and on those that they require. */
  readonly verdictOn: (caller: string, id: string) => StoredVerdict | undefined
  /** See {@link decideOn}. @default 0 */
  readonly verdictHorizon?: number
}

export interface Entry {
  readonly sid: number
  readonly owner: string
  readonly movedTo: string | undefined
  readonly t: string
  readonly id: string
  readonly caller: string | undefined
  readonly tx: string | undefined
  /** Whether this is the last change of a write. */
  readonly last: boolean
  readonly frame: SyncFrame
  /**
   * The fields of the record that a transaction has removed by this change. `stored`: those in the database.
   */
  readonly removed?: Payload | 'stored' | undefined
}

export type NewVerdict = StoredVerdict & { readonly caller: string; readonly id: string }

/** Writes that are stored together. Each is decided as if the writes before it were stored already. */
export class Group {
  readonly #before: GroupBefore
  readonly #at: number
  readonly #rules: GroupRules | undefined
  readonly #records = new Map<string, Draft['records'][number]>()
  readonly #verdicts = new Map<string, NewVerdict>()
  readonly #entries: Entry[] = []
  #head: number

  /** `at` is the time of all changes, in ms since the epoch. Transactions with rules need `rules`. */
  constructor(before: GroupBefore, at: number, rules?: GroupRules) {
    this.#before = before
    this.#at = at
    this.#rules = rules
    this.#head = before.head
  }

  /** The head after the group. */
  get head(): number {
    return this.#head
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** The new state of each record that changes. */
  get records(): Draft['records'] {
    return [...this.#records.values()]
  }

  /** The new verdicts. */
  get verdicts(): readonly NewVerdict[] {
    return [...this.#verdicts.values()]
  }

  /**
   * The outcomes of all of `writes`, in their order. Throws any error of a judge other than a WriteRejectedError, and
   * RulesLate if the rules of all writes take too long together.
   */
  async decide(writes: readonly Write[]): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = []
    for (const [index, write] of writes.entries()) {
      outcomes.push(await this.#outcome(write, this.#before.befores[index] ?? []))
    }
    return outcomes
  }

  async #outcome(write: Write, befores: readonly RecordBefore[]): Promise<Outcome> {
    try {
      return await this.#decide(write, befores)
    } catch (error) {
      if (error instanceof RuleFailure && !(error instanceof RulesLate)) return { failure: error }
      throw error
    }
  }

  async #decide({ ops, judge, transaction }: Write, befores: readonly RecordBefore[]): Promise<Decision> {
    const drafted = () => {
      const stamp = { at: this.#at, ...(transaction && { tx: transaction.id }) }
      const counts = countsFor(transaction)
      const current = ops.map((op, index) => this.#current(op, befores[index], counts))
      const left = remainingWith(ops, current, transaction?.owners)
      return this.#withRules(transaction?.rules, left, judge, (ruling, read) =>
        draft(left, ruling, this.#head, stamp, read),
      )
    }
    if (!transaction) return this.#keep(await tryDraft(drafted))
    const { caller, id, digest } = transaction
    const storedFor = (named: string) =>
      this.#verdicts.get(verdictKey(caller, named)) ?? this.#before.verdictOn(caller, named)
    const { verdictHorizon } = this.#before
    const decided = this.#keep(await decideOn(transaction, storedFor, drafted, verdictHorizon), transaction)
    const { verdict, isNotStored } = decided
    if (!isNotStored) this.#verdicts.set(verdictKey(caller, id), { caller, id, digest, verdict })
    return decided
  }

  /** Drafts `left` as `rules` decide, or as `judge` decides without any. */
  #withRules(
    rules: Rules | undefined,
    { ops, befores }: RemainingOps,
    judge: Judge,
    draftBy: (ruling: Ruling, read?: ReadRecord) => Promise<Draft>,
  ): Promise<Draft> {
    if (!rules) return draftBy({ judge })
    if (!this.#rules) throw new Error('A transaction with rules needs a reader.')
    const { runner, read } = this.#rules
    const readGroup: ReadRecord = async (t, id) => {
      const kept = this.#records.get(rowKey(t, id))
      return kept ? kept.after : read(t, id)
    }
    const readAll = readWithRemoved(readGroup, ops, (_, index) => befores[index]?.removed)
    return runner.run(readAll, async (read) => draftBy(await rules(read, ops), read))
  }

  #keep(decided: Decision, transaction?: ClientTransaction): Decision {
    const { sid, frames, records } = decided.draft ?? { sid: this.#head, frames: [], records: [] }
    const gone = transaction ? records.filter(({ after }) => after === undefined) : []
    const removed = new Map(gone.map(({ t, id }) => [rowKey(t, id), this.#removed(t, id)]))
    for (const { owner, movedTo, frame } of frames) {
      const { t, id, op } = frame
      const last = frame.sid === sid
      const by = { caller: transaction?.caller, tx: transaction?.id }
      const was = op === 'd' ? removed.get(rowKey(t, id)) : undefined
      this.#entries.push({ sid: frame.sid, owner, movedTo, t, id, ...by, last, frame, removed: was })
    }
    for (const record of records) this.#records.set(rowKey(record.t, record.id), record)
    this.#head = sid
    return decided
  }

  /** The fields of a record before the current write, for {@link Entry}. */
  #removed(t: string, id: string): Entry['removed'] {
    const kept = this.#records.get(rowKey(t, id))
    return kept ? kept.after?.p : 'stored'
  }

  /** The state of the op's record, as if the earlier writes of the group were stored. */
  #current(
    op: TxOp,
    before: RecordBefore = { record: undefined, changed: false },
    counts: Counts,
  ): RecordBefore {
    const { t, id, unchangedSince } = op
    const kept = this.#records.get(rowKey(t, id))
    if (!kept) return before
    const happened = (since: number) =>
      this.#entries.some((entry) => entry.sid > since && entry.t === t && entry.id === id && counts(entry))
    const changed = hasChanged(unchangedSince, this.#before.horizon, kept.after, happened)
    return { record: kept.after, changed: before.changed || changed }
  }
}

/** Whether a change counts for `unchangedSince`, as {@link Judge} says. */
type Counts = (change: Entry) => boolean

function countsFor(by: ClientTransaction | undefined): Counts {
  if (!by) return () => true
  const [owners, bases] = [new Set(by.owners), new Set(by.bases)]
  return ({ owner, caller, tx }) =>
    owners.has(owner) && !(tx !== undefined && caller === by.caller && bases.has(tx))
}

function verdictKey(caller: string, id: string): string {
  return rowKey(caller, id)
}
