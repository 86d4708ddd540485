import { Emitter, type Unsubscribe } from '../../base/emitter.ts'
import type { Clock, Random } from '../../base/environment.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { Timer } from '../../base/timer.ts'
import { rowKey } from '../../protocol/fold.ts'
import type { SyncFrame } from '../../protocol/frame.ts'
import type { WireRow } from '../../protocol/row.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { compareText } from './compare-text.ts'
import { creationTimeOf } from './creation-time.ts'
import { decideOn, type StoredVerdict } from './decide-on.ts'
import {
  type Draft,
  draft as draftOf,
  hasChanged,
  maxExaminedOf,
  type RemainingOps,
  remainingWith,
} from './draft.ts'
import type {
  Changes,
  ClientTransaction,
  Judge,
  ListedRecord,
  Log,
  LoggedChange,
  LogRead,
  OnCommitted,
  Position,
  ReadRecord,
  RecordKey,
  RecordPage,
  Ruling,
  Snapshot,
  StoredRecord,
  Verdict,
} from './log.ts'
import { isReceivedBy } from './received.ts'
import { maxChangesSince, type Removal, type RemovedRecord, readWithRemoved } from './removed-record.ts'
import {
  checkRetention,
  forgetEveryMs,
  maxClockSkewMs,
  type Retention,
  verdictHorizonOf,
} from './retention.ts'
import { RuleRunner } from './rules.ts'
import { separator } from './separator.ts'

/** The approximate length of a batch, in UTF-16 units. */
const batchLength = 65_536

interface Entry extends LoggedChange {
  readonly at: number
  /** The key of the record, from `rowKey`. */
  readonly key: string
  /** The key of the transaction that made the change. */
  readonly by: string | undefined
  /** Whether this is the last change of a write. */
  readonly last: boolean
  /** Whether this is a whole record or a removal. */
  readonly isWhole: boolean
  /** The record that a transaction has removed by this change. */
  readonly removed?: RemovedRecord | undefined
}

interface AgingVerdict extends StoredVerdict {
  readonly caller: string
  /** The time from which the verdict's age counts, in ms since the epoch; `undefined` if its id contains no time. */
  readonly from: number | undefined
}

type KeptRecord = StoredRecord & { readonly t: string; readonly id: string }

export interface MemoryLogOptions {
  readonly clock: Clock
  readonly random: Random
  /** @default nothing is forgotten */
  readonly retention?: Retention | undefined
}

/** A log in memory, which ends with the process. */
export class MemoryLog implements Log {
  readonly #records = new Map<string, KeptRecord>()
  readonly #verdicts = new Map<string, AgingVerdict>()
  /** Verdicts on ids made before this time, in ms since the epoch, may have been forgotten. */
  #verdictHorizon = 0
  #entries: Entry[] = []
  /** The entries of each record, by its key. */
  readonly #entriesOf = new Map<string, Entry[]>()
  #head = 0
  #horizon = 0
  readonly #history: string
  readonly #clock: Clock
  readonly #retention: Retention
  readonly #forgetting: Timer
  /** Settles when the newest write has ended. */
  #lastWrite: Promise<unknown> = Promise.resolve()
  /** An error of a listener changes nothing about the write, so errors are ignored. */
  readonly #hints = new Emitter<{ hint: undefined }>(() => {})

  /** Throws a ConfigurationError that says what is wrong with `retention`. */
  constructor({ clock, random, retention }: MemoryLogOptions) {
    checkRetention(retention)
    this.#clock = clock
    this.#retention = retention ?? {}
    this.#forgetting = new Timer(clock, () => this.#forget())
    if (retention) this.#forgetting.set(forgetEveryMs)
    this.#history = Array.from(random.bytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('')
  }

  write(ops: readonly TxOp[], judge: Judge, onCommitted?: OnCommitted): Promise<number> {
    return this.#inTurn(async () => {
      const draft = await this.#draft(this.#left(ops), { judge })
      this.#commit(draft, onCommitted)
      return draft.sid
    })
  }

  transact(transaction: ClientTransaction, judge: Judge, onCommitted?: OnCommitted): Promise<Verdict> {
    return this.#inTurn(() => this.#transact(transaction, judge, onCommitted))
  }

  async #transact(transaction: ClientTransaction, judge: Judge, onCommitted?: OnCommitted): Promise<Verdict> {
    const { caller, id, digest, ops, rules } = transaction
    const storedFor = (named: string) => this.#verdicts.get(verdictKey(transaction, named))
    const drafted = () => {
      const left = this.#left(ops, transaction)
      if (!rules) return this.#draft(left, { judge }, transaction)
      const runner = new RuleRunner(this.#clock)
      const draftBy = async (read: ReadRecord) =>
        this.#draft(left, await rules(read, left.ops), transaction, read)
      const read: ReadRecord = (...key) => this.read(...key)
      return runner.run(
        readWithRemoved(read, left.ops, (_, index) => left.befores[index]?.removed),
        draftBy,
      )
    }
    const now = this.#clock.now()
    const horizon = Math.max(this.#verdictHorizon, verdictHorizonOf(this.#retention, now))
    const { verdict, draft, isNotStored } = await decideOn(transaction, storedFor, drafted, horizon)
    const key = verdictKey(transaction, id)
    const made = creationTimeOf(id)
    const from = made === undefined ? undefined : Math.max(now, made)
    if (!isNotStored) this.#verdicts.set(key, { caller, digest, verdict, from })
    if (draft) this.#commit(draft, onCommitted, key)
    return verdict
  }

  async read(t: string, id: string): Promise<StoredRecord | undefined> {
    return this.#records.get(rowKey(t, id))
  }

  async list({ t, owner, after, limit }: RecordPage): Promise<readonly ListedRecord[]> {
    const records = [...this.#records.values()].filter(
      (record) =>
        record.t === t &&
        (owner === undefined || record.owner === owner) &&
        compareText(record.id, after) > 0,
    )
    return records.sort((a, b) => compareText(a.id, b.id)).slice(0, limit)
  }

  async owners(after: string, limit: number): Promise<readonly string[]> {
    const owners = new Set([...this.#records.values()].map(({ owner }) => owner))
    const next = [...owners].filter((owner) => compareText(owner, after) > 0)
    return next.sort(compareText).slice(0, limit)
  }

  async keysOf(owner: string, limit: number): Promise<readonly RecordKey[]> {
    return this.#recordsOf(owner).slice(0, limit)
  }

  async forget(owner: string, caller?: string): Promise<boolean> {
    if (this.#recordsOf(owner).length > 0) return false
    const blank = (entry: Entry) => (entry.owner === owner ? withoutFields(entry) : entry)
    this.#entries = this.#entries.map(blank)
    for (const [key, entries] of this.#entriesOf) this.#entriesOf.set(key, entries.map(blank))
    for (const [key, verdict] of this.#verdicts) if (verdict.caller === caller) this.#verdicts.delete(key)
    return true
  }

  async snapshot(owners: readonly string[]): Promise<Snapshot> {
    const own = new Set(owners)
    // Records are never modified, only replaced, so this list is a snapshot.
    const records = [...this.#records.values()].filter((record) => own.has(record.owner))
    return { ...this.#position(), count: records.length, batches: batchesOf(records, rowText) }
  }

  async delta(owners: readonly string[], since: number): Promise<LogRead> {
    const entries = since < this.#horizon ? [] : currentOf(this.#entriesAfter(since), new Set(owners))
    return { ...this.#position(), batches: batchesOf(entries, (entry) => entry.frame) }
  }

  async changes(after: number, limit: number): Promise<Changes> {
    const entries = this.#entriesAfter(after)
    const end = entries.findIndex((entry, index) => entry.last && index >= limit - 1)
    const changes = end < 0 ? entries : entries.slice(0, end + 1)
    const sid = end < 0 ? this.#head : (changes.at(-1)?.sid ?? this.#head)
    return { ...this.#position(), sid, changes }
  }

  async position(): Promise<Position> {
    return this.#position()
  }

  onHint(listener: () => void): Unsubscribe {
    return this.#hints.on('hint', () => listener())
  }

  async trim(sid: number): Promise<void> {
    if (!Number.isSafeInteger(sid))
      throw new ConfigurationError('sid', `${sid} is not a sid: it must be a whole number.`)
    this.#trim(sid)
  }

  async close(): Promise<void> {
    this.#forgetting.clear()
    this.#hints.clear()
  }

  #trim(sid: number): void {
    const horizon = Math.max(this.#horizon, Math.min(sid, this.#head))
    const forgotten = new Set(this.#entries.slice(0, horizon - this.#horizon).map(({ key }) => key))
    for (const key of forgotten) {
      const kept = this.#entriesOf.get(key)?.filter((entry) => entry.sid > horizon) ?? []
      if (kept.length > 0) this.#entriesOf.set(key, kept)
      else this.#entriesOf.delete(key)
    }
    this.#entries = this.#entriesAfter(horizon)
    this.#horizon = horizon
  }

  #forget(): void {
    const { maxAgeMs = Number.POSITIVE_INFINITY, maxChanges = Number.POSITIVE_INFINITY } = this.#retention
    const now = this.#clock.now()
    const young = this.#entries.find(({ at }) => at >= now - maxAgeMs)
    this.#trim(Math.max(young ? young.sid - 1 : this.#head, this.#head - Math.floor(maxChanges)))
    const before = verdictHorizonOf(this.#retention, now) - maxClockSkewMs
    for (const [key, { from }] of this.#verdicts) {
      if (from === undefined || from >= before) continue
      this.#verdicts.delete(key)
      this.#verdictHorizon = Math.max(this.#verdictHorizon, from + 1)
    }
    this.#forgetting.set(forgetEveryMs)
  }

  /** Runs `work` after all earlier writes. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const written = this.#lastWrite.then(work)
    this.#lastWrite = written.catch(() => {})
    return written
  }

  /** Returns the remaining ops, with the state before each. */
  #left(ops: readonly TxOp[], transaction?: ClientTransaction): RemainingOps {
    const bases = new Set(transaction?.bases.map((id) => verdictKey(transaction, id)))
    const own = transaction && new Set(transaction.owners)
    const counts = ({ owner, by }: Entry) => own?.has(owner) !== false && (by === undefined || !bases.has(by))
    const asked = new Set(
      ops.flatMap(({ t, id, unchangedSince }) => (unchangedSince === undefined ? [] : rowKey(t, id))),
    )
    const max = maxExaminedOf(asked.size)
    const befores = ops.map((op) => {
      const { t, id, unchangedSince } = op
      const key = rowKey(t, id)
      const record = this.#records.get(key)
      const happened = (since: number) => {
        const newest = this.#entriesOf.get(key)?.slice(-max - 1) ?? []
        return newest.some(
          (entry, place) => entry.sid > since && (newest.length - place > max || counts(entry)),
        )
      }
      const changed = hasChanged(unchangedSince, this.#horizon, record, happened)
      return { record, changed, removed: transaction && this.#removedBy(transaction, op) }
    })
    return remainingWith(ops, befores, transaction?.owners)
  }

  /** The removal that `op` undoes. */
  #removedBy(transaction: ClientTransaction, op: TxOp): Removal {
    if (op.op !== 'i' || op.restores === undefined) return undefined
    const removal = verdictKey(transaction, op.restores)
    const newest = this.#entriesOf.get(rowKey(op.t, op.id))?.slice(-maxChangesSince) ?? []
    const last = newest.at(-1)
    if (last?.by === removal) return last.removed
    const own = newest.filter(({ by }) => by === removal)
    const isUnchanged = own.length === 0 && newest.length < maxChangesSince && this.#hasAllOf(removal)
    return isUnchanged || own.some(({ removed }) => removed) ? 'changed' : undefined
  }

  /** Whether the transaction with the key `by` was accepted, and the log has all of its changes. */
  #hasAllOf(by: string): boolean {
    const { verdict } = this.#verdicts.get(by) ?? {}
    if (!verdict || 'error' in verdict) return false
    const older = this.#entries.slice(0, Math.max(0, verdict.sid - this.#horizon))
    return this.#horizon === 0 || older.some((entry) => entry.by !== by)
  }

  #draft(
    left: RemainingOps,
    ruling: Ruling,
    transaction?: ClientTransaction,
    read?: ReadRecord,
  ): Promise<Draft> {
    const stamp = { at: this.#clock.now(), ...(transaction && { tx: transaction.id }) }
    return draftOf(left, ruling, this.#head, stamp, read)
  }

  /** Applies a draft. Nothing here can fail, so a write happens completely or not at all. */
  #commit({ sid, frames, records }: Draft, onCommitted?: OnCommitted, by?: string): void {
    const gone = by === undefined ? [] : records.filter(({ after }) => after === undefined)
    const removed = new Map(gone.map(({ t, id }) => [rowKey(t, id), this.#records.get(rowKey(t, id))]))
    for (const { t, id, after } of records) {
      if (after) this.#records.set(rowKey(t, id), { t, id, ...after })
      else this.#records.delete(rowKey(t, id))
    }
    const entries = frames.map(({ owner, movedTo, frame }) => {
      const key = rowKey(frame.t, frame.id)
      const { at = 0, op } = frame
      const [last, isWhole] = [frame.sid === sid, op !== 'u']
      const text = JSON.stringify(frame)
      return {
        sid: frame.sid,
        owner,
        movedTo,
        frame: text,
        at,
        key,
        by,
        last,
        isWhole,
        removed: removed.get(key),
      }
    })
    for (const entry of entries) {
      this.#entries.push(entry)
      const ofRecord = this.#entriesOf.get(entry.key)
      if (ofRecord) ofRecord.push(entry)
      else this.#entriesOf.set(entry.key, [entry])
    }
    this.#head = sid
    if (entries.length === 0) return
    this.#hints.emit('hint', undefined)
    onCommitted?.(entries)
  }

  #recordsOf(owner: string): KeptRecord[] {
    return [...this.#records.values()].filter((record) => record.owner === owner)
  }

  #position(): Position {
    return { history: this.#history, head: this.#head, horizon: this.#horizon }
  }

  /** Every `sid` above the horizon has one entry, so the index of an entry follows from its `sid`. */
  #entriesAfter(sid: number): Entry[] {
    return this.#entries.slice(Math.max(0, sid - this.#horizon))
  }
}

function verdictKey({ caller }: ClientTransaction, id: string): string {
  return rowKey(caller, id)
}

/** `entry` without fields, as a removal. */
function withoutFields(entry: Entry): Entry {
  const { sid, t, id, at, tx, op }: SyncFrame = JSON.parse(entry.frame)
  if (op === 'd') return { ...entry, removed: undefined }
  const frame: SyncFrame = { sid, t, id, op: 'd', at, tx }
  return { ...entry, frame: JSON.stringify(frame), isForgotten: true }
}

/**
 * The entries that `owners` receive. If a later entry of the same owner removes the record or replaces it as a whole,
 * an entry is left out, or, if a transaction made it, turns into a removal.
 */
function currentOf(entries: readonly Entry[], owners: ReadonlySet<string>): readonly Entry[] {
  const replaced = new Set<string>()
  const current: Entry[] = []
  for (const entry of [...entries].reverse()) {
    const key = rowKey(entry.owner, entry.key)
    if (!isReceivedBy(owners, entry)) {
      if (owners.has(entry.owner) && entry.isWhole) replaced.add(key)
      continue
    }
    if (!replaced.has(key)) current.push(entry)
    else if (entry.by !== undefined) current.push(withoutFields(entry))
    if (entry.isWhole) replaced.add(key)
  }
  return current.reverse()
}

async function* batchesOf<T>(items: readonly T[], textOf: (item: T) => string): AsyncGenerator<string> {
  let texts: string[] = []
  let length = 0
  for (const item of items) {
    const text = textOf(item)
    texts.push(text)
    length += text.length
    if (length < batchLength) continue
    yield texts.join(separator)
    texts = []
    length = 0
  }
  if (texts.length > 0) yield texts.join(separator)
}

function rowText({ t, id, sid, p }: KeptRecord): string {
  const row: WireRow = { t, id, v: sid, p }
  return JSON.stringify(row)
}
