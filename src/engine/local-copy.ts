import type { Clock } from '../base/environment.ts'
import { toStorageError } from '../base/errors.ts'
import type { Debug } from '../base/logger.ts'
import { yieldAfter } from '../base/turns.ts'
import type { Acknowledgements } from '../mutations/acknowledgements.ts'
import type { CallerCheck } from '../network/caller-check.ts'
import type { Disk } from '../persistence/disk.ts'
import type { PageSink } from '../persistence/page-sink.ts'
import type { Repair } from '../persistence/repair.ts'
import type { Restored } from '../persistence/stored-data.ts'
import type { HistoryPosition, SnapshotHead } from '../protocol/bootstrap.ts'
import { type DeltaFrame, type DeltaMessage, framesOf, partsOf } from '../protocol/delta.ts'
import type { RowOp } from '../protocol/fold.ts'
import { epochAndCallerOf, isOtherEpoch } from '../protocol/guards.ts'
import type { Replica } from '../records/replica.ts'
import type { Staging } from '../records/staging.ts'
import type { ResetReason } from './events.ts'
import { LazyTypes } from './lazy-types.ts'
import { PartialSnapshot } from './partial-snapshot.ts'
import {
  amended,
  confirmedRowsIn,
  fetched,
  joined,
  type Outcome,
  type Position,
  positionAt,
  pushed,
  withPushed,
} from './position.ts'
import type { SyncResult } from './sync-result.ts'

/** The time in ms after which other tasks run before the next part of a large delta is applied. */
const turnMs = 8

export interface LocalCopyOptions {
  readonly disk: Disk
  readonly replica: Replica
  /** The types that stay on disk until they are first used. */
  readonly lazy: readonly string[]
  readonly clock: Clock
  readonly debug: Debug
  readonly listener: CopyListener
  readonly acknowledgements: Acknowledgements
  readonly callerCheck: CallerCheck
}

/** The callbacks of a local copy. */
export interface CopyListener {
  /** A part of the first snapshot is shown. */
  shownInPart(): void
  /** The data was replaced. With `types`, only the records of these lazy types were loaded. */
  replaced(types?: ReadonlySet<string>): void
  /** The repair state that was stored before a restart. */
  restored(repair: Restored['repair']): void
  /**
   * The stored data ends at another position than memory: fetch a delta from `since` on, which brings them together.
   */
  diverged(): void
  /**
   * A delta of the current history has arrived, applied or not. It is a push, or the response to a request from
   * `delta.since` on.
   */
  received(delta: DeltaMessage): void
  /** The stored data is another user's than the data in memory, which is gone. */
  otherUser(): void
  /** After a restore or a load, `ops` turned out to be updates of records that do not exist here. */
  unknownRecords(ops: readonly RowOp[]): void
}

/** A complete snapshot, ready to replace the current data. */
export interface Replacement {
  readonly head: SnapshotHead
  readonly staging: Staging
  readonly pages: PageSink
}

/** The request of a delta. */
export interface Asked {
  readonly since: number
  /**
   * The number of results of writes that had arrived before the request: the response contains the effects of all of
   * them.
   */
  readonly results: number
}

/** The data of one identity, in memory and on disk, and its position. */
export class LocalCopy {
  readonly disk: Disk
  readonly firstRows: PartialSnapshot
  readonly callerCheck: CallerCheck
  readonly #options: LocalCopyOptions
  readonly #replica: Replica
  readonly #lazy: LazyTypes
  #position: Position | undefined
  /**
   * The end of the stored data, if this client stores the data and memory has another position. The next delta is then
   * requested from the lower of the two positions.
   */
  #storedTo: number | undefined
  #placedAt: number | undefined
  #name: string | undefined
  #isEmpty = false

  constructor(options: LocalCopyOptions) {
    this.#options = options
    const { disk, replica, clock, listener } = options
    this.disk = disk
    this.callerCheck = options.callerCheck
    this.#replica = replica
    this.firstRows = new PartialSnapshot({
      replica,
      clock,
      onShown: () => listener.shownInPart(),
    })
    this.#lazy = new LazyTypes({
      types: options.lazy,
      replica,
      data: disk.data,
      listener: {
        join: (...loaded) => this.#join(...loaded),
        lost: (error) => disk.lose(error),
      },
    })
  }

  /** `undefined` until there is data. */
  get position(): Position | undefined {
    return this.#position
  }

  /** The name of the stored copy that the data in memory continues; `undefined` if that is not known. */
  get name(): string | undefined {
    return this.#name
  }

  /** When the last snapshot was fetched or, for restored data, stored, in ms since the epoch. */
  get placedAt(): number | undefined {
    return this.#placedAt
  }

  /**
   * Call when this client has attached. Restores the stored data if there is none in memory. If there is some, the leader
   * continues the stored data. Never rejects: if the store fails, the data is in memory only.
   */
  async attach(): Promise<void> {
    this.#storedTo = undefined
    try {
      await this.#readCaller()
      if (!this.#position) return await this.#restore()
      if (!this.disk.leads || this.disk.storeWaiting()) return
      const stored = await this.disk.data.position()
      if (!stored || isOtherEpoch(this.#position, stored.epoch)) this.disk.lose()
      else {
        this.#name = stored.copy
        this.#continue(stored.sid)
      }
    } catch (error) {
      this.disk.lose(toStorageError(error))
    }
  }

  /** The position to ask the next delta from; `undefined` until there is data. */
  get since(): number | undefined {
    const { confirmed } = this.#position ?? {}
    return confirmed === undefined ? undefined : Math.min(confirmed, this.#bridged ?? confirmed)
  }

  /**
   * Brings the data in memory to the position that the leader has stored. Resolves with `undefined` if the stored data
   * is older than memory and does not continue it: read it later. Rejects with a StorageError if it cannot be read.
   */
  async readStored(): Promise<SyncResult | undefined> {
    await this.#readCaller()
    const { confirmed: since, epoch } = this.#position ?? {}
    if (since === undefined) return this.#readAll()
    const stored = await this.disk.data.since({ sid: since, epoch }, this.#name)
    if (!stored) return this.#readAll()
    this.#name = stored.copy
    const { sid, frames } = stored
    // Parsing them was a long task, and so may be applying the first part.
    await this.#options.clock.pause()
    const delta: DeltaMessage = { sid, kind: 'frame', frames, broken: [], ...epochAndCallerOf({ ...stored }) }
    let changes = 0
    await this.takeInTurns(delta, { since, results: 0 }, (outcome) => {
      changes += outcome.changes().length
    })
    return { kind: 'delta', sid, changes }
  }

  /** Marks the type `t` as used. Its records are loaded if they are on the disk only. */
  use(t: string): void {
    this.#lazy.use(t)
  }

  /** Begins a second copy, without the unused lazy types. Without a working disk, the copy includes all types. */
  stage(): Staging {
    const isStored = this.disk.isOpen && this.disk.leads && !this.disk.failure
    return this.#replica.stage(isStored ? this.#lazy.unused : undefined)
  }

  /**
   * The number of results of writes so far. Read it before each fetch, and pass it to `take` or `replace` with the
   * response.
   */
  get results(): number {
    return this.#options.acknowledgements.results
  }

  /**
   * Applies a delta: the response to the request `asked`, or a push. The changes are shown at once and stored later.
   * Returns `undefined` if there is no data yet.
   */
  take(message: DeltaMessage, asked?: Asked): Outcome | undefined {
    const { acknowledgements } = this.#options
    const { rows } = this.#replica
    if (!this.#position) return undefined
    const isProof = asked !== undefined || message.since !== undefined
    const removed =
      isProof && message.kind === 'row' ? acknowledgements.removedAt(message.sid, asked?.results ?? 0) : []
    const isNew = message.sid > this.#position.confirmed
    if (removed.length > 0 && !isNew) this.remove(removed)
    const delta = isNew ? { ...message, frames: [...removed, ...message.frames] } : message
    const before = this.#position
    const outcome = asked ? fetched(before, delta, asked.since, rows) : pushed(before, delta, rows)
    const { state, changes, unloadedOps, entry, reset, want } = outcome
    const { since = asked?.since, sid } = delta
    this.#options.debug('delta', { since, sid, reset, want })
    this.#position = state
    this.#lazy.keep(unloadedOps, state.confirmed)
    // A message of another history acknowledges none of the transactions that were sent to the current one.
    const isApplied = !reset && !isOtherEpoch(state, delta.epoch)
    if (isApplied) {
      this.#options.listener.received(since === undefined ? delta : { ...delta, since })
      const ops = entry?.ops ?? []
      const seen = delta.kind === 'row' ? ops : withPushed(before, ops, state.confirmed)
      acknowledgements.heard(delta, seen, confirmedRowsIn(before, rows))
    }
    void this.#storeCaller()
    const canStore = this.#bridged === undefined
    const { confirmed } = state
    const results = asked?.results ?? 0
    const stored = canStore && entry && { ...entry, ends: acknowledgements.endsAt(confirmed, results) }
    // The disk works while the data is applied. A push is shown first, since no caller waits for its storing.
    if (stored && asked) this.disk.record(stored)
    if (isApplied) acknowledgements.change(changes(), confirmed, results)
    if (stored && !asked) this.disk.record(stored, true)
    if (!canStore) this.#bridge(delta, outcome, asked)
    return outcome
  }

  /**
   * Removes records whose removal the server has accepted, and which its deltas do not show: the data contained the
   * removal before the response came.
   */
  remove(frames: readonly DeltaFrame[]): void {
    if (!this.#position) return
    const { acknowledgements } = this.#options
    const { confirmed } = this.#position
    const { state, changes, entry } = amended(this.#position, frames, this.#replica.rows)
    const ends = acknowledgements.endsAt(confirmed, 0)
    this.#position = state
    acknowledgements.change(changes(), confirmed, 0)
    if (this.#bridged === undefined) this.disk.record({ ...entry, ends })
  }

  /**
   * As `take`, for a response. A large response is applied in parts, and other tasks run in between. Calls `onPart`
   * with the outcome of each part. Resolves with the reason for a bootstrap, if one has to follow.
   */
  async takeInTurns(
    delta: DeltaMessage,
    asked: Asked,
    onPart: (outcome: Outcome) => void,
  ): Promise<ResetReason | undefined> {
    const pauseIfLong = yieldAfter(this.#options.clock, turnMs)
    // Until the stored data is at the position of memory, the response is stored as one entry.
    const parts =
      this.#bridged === undefined ? partsOf(delta, asked.since) : [{ ...delta, since: asked.since }]
    for (const part of parts) {
      this.callerCheck.check(delta.caller)
      const outcome = this.take(part, { ...asked, since: part.since })
      if (outcome?.reset) return outcome.reset
      if (outcome) onPart(outcome)
      if (part.sid !== delta.sid) await pauseIfLong()
    }
    return undefined
  }

  /**
   * Replaces the data by a snapshot, first on disk and then in memory, each in one step. Resolves with `false`, without
   * any change in memory, if the disk did not store lazy types that are on the disk only, or if the disk was opened
   * again meanwhile. Then download another snapshot.
   */
  async replace(
    { head, staging, pages }: Replacement,
    results: number,
    repair: Pick<Repair, 'at'>,
  ): Promise<boolean> {
    const { clock } = this.#options
    const isWhole = staging.unloaded.size === 0
    this.#lazy.pause()
    const replaced = await this.disk.replace(pages.term, async () => {
      await this.#storeCaller()
      const failure = (await pages.commit(head, repair)) ?? (await this.#lazy.fill(staging, head))
      if (!failure || isWhole) await staging.prepare()
      return failure
    })
    if (replaced === 'again' || (replaced === 'memory' && !isWhole)) {
      this.#lazy.resume()
      return false
    }
    // The database may have been opened during the download, and be another user's.
    this.callerCheck.check(head.caller)
    this.#storedTo = undefined
    this.#name = replaced === 'stored' ? pages.copy : undefined
    const { confirmed: sid, epoch } = this.#position ?? {}
    this.#place(staging, head, sid === undefined ? undefined : { sid, epoch }, clock.now(), results)
    return true
  }

  /**
   * Removes all data from memory, and shows none that still arrives. `pending`: the ids of the transactions that are
   * shown.
   */
  empty(pending: readonly string[]): void {
    this.#isEmpty = true
    this.#position = undefined
    this.#replica.swap(this.#replica.stage(), pending)
  }

  /** Stops loading lazy types. */
  async close(): Promise<void> {
    await this.#lazy.close()
  }

  get #bridged(): number | undefined {
    return this.disk.leads ? this.#storedTo : undefined
  }

  /**
   * Stores further deltas if the stored position `sid` equals that of memory. If not, asks for a delta. Both positions
   * are of the same history.
   */
  #continue(sid: number): void {
    const isEqual = sid === this.#position?.confirmed
    this.#storedTo = isEqual ? undefined : sid
    if (isEqual) this.disk.resume()
    else this.#options.listener.diverged()
  }

  /** Stores a response that reaches from the end of the stored data to the position of memory. */
  #bridge(delta: DeltaMessage, { entry, reset }: Outcome, asked: Asked | undefined): void {
    const { sid, kind, broken, epoch } = delta
    const since = this.#storedTo
    if (since === undefined || !asked || reset) return
    // A delta of whole rows has no removals. A server whose history ends before the stored data has lost changes.
    if (kind === 'row' || sid < since) this.disk.lose()
    else if (asked.since <= since && sid > since && sid === this.#position?.confirmed) {
      this.#storedTo = undefined
      this.disk.resume()
      const ops = framesOf(delta, () => false)
      const owesRepair = broken.length > 0 || entry?.owesRepair
      const ends = this.#options.acknowledgements.takeEnds()
      this.disk.record({ since, sid, ops, epoch, owesRepair, ends })
    } else this.#continue(since)
  }

  /** Stores the user who owns the data now, though there may be no data to store. Never rejects. */
  #storeCaller(): Promise<void> {
    return this.disk.data.storeCaller().catch(() => {})
  }

  /** Reads who owns the stored data. If that is another user, removes the data from memory. */
  async #readCaller(): Promise<void> {
    const caller = await this.disk.data.readCaller()
    if (caller === undefined) return
    if (this.callerCheck.isOther(caller)) {
      this.#position = undefined
      this.#replica.swap(this.#replica.stage(), [])
      this.#options.listener.otherUser()
    }
    this.callerCheck.adopt(caller)
  }

  /** Reads the stored data into a second copy. */
  async #readStaging() {
    const staging = this.stage()
    let count = 0
    const restored = await this.disk.data.restore({
      begin: () => {
        staging.clear()
        count = 0
      },
      rows: (rows) => {
        staging.add(rows)
        count += rows.length
      },
      ops: (ops) => staging.apply(ops),
      holds: (t) => !staging.unloaded.has(t),
    })
    if (restored) await staging.prepare()
    return { staging, restored, count }
  }

  async #readAll(): Promise<SyncResult | undefined> {
    const { staging, restored, count } = await this.#readStaging()
    const data = this.#position && { ...this.#position, sid: this.#position.confirmed }
    if (!restored) return data ? undefined : { kind: 'delta', sid: 0, changes: 0 }
    if (data && !isOtherEpoch(data, restored.epoch) && restored.sid < data.sid) return undefined
    this.#name = restored.copy
    this.#place(staging, restored, data, restored.at, 0)
    return { kind: 'bootstrap', sid: restored.sid, changes: count }
  }

  async #restore(): Promise<void> {
    const { listener } = this.#options
    const { staging, restored } = await this.#readStaging()
    if (!restored) return
    const { owed, at } = restored.repair
    listener.restored({ owed: owed && !this.#position, at })
    // Data that was fetched during the restore is newer.
    if (this.#position) return
    this.#name = restored.copy
    if (restored.failure) this.disk.suspend(restored.failure)
    else this.disk.resume()
    this.#place(staging, restored, restored, restored.at, 0)
    if (staging.unknown.length > 0) listener.unknownRecords(staging.unknown)
  }

  /**
   * Replaces the data in memory by data that was fetched or stored at the time `at`, and removes the transactions that
   * it includes. `data`: the position of the previous data.
   */
  #place(
    staging: Staging,
    position: HistoryPosition,
    data: HistoryPosition | undefined,
    at: number,
    results: number,
  ): void {
    const { acknowledgements, debug, listener } = this.#options
    const { sid, epoch } = position
    if (this.#isEmpty) return
    debug('snapshot', { sid, before: data?.sid })
    acknowledgements.enter(position, data)
    acknowledgements.reached(sid, results, (remove) => {
      this.#placedAt = at
      this.#replica.swap(staging, remove)
      this.#position = positionAt(sid, epoch)
      listener.replaced()
      this.#lazy.replaced(position)
    })
  }

  #join(staging: Staging, types: ReadonlySet<string>, ops: readonly RowOp[], owesRepair: boolean): void {
    const { acknowledgements, listener } = this.#options
    if (this.#isEmpty) return
    let unknownOps: readonly RowOp[] = []
    this.#replica.join(staging, types, () => {
      if (!this.#position) return []
      const { state, changes, unknown } = joined(this.#position, types, ops, this.#replica.rows)
      this.#position = state
      unknownOps = unknown
      return changes()
    })
    listener.replaced(types)
    acknowledgements.loaded()
    if (unknownOps.length > 0 || owesRepair) listener.unknownRecords(unknownOps)
  }
}
