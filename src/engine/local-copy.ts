import type { Clock } from '../base/environment.ts'
import { toStorageError } from '../base/errors.ts'
import type { Acknowledgements } from '../mutations/acknowledgements.ts'
import type { CallerCheck } from '../network/caller-check.ts'
import type { Restored } from '../persistence/database.ts'
import type { Disk } from '../persistence/disk.ts'
import { noDatabase } from '../persistence/none.ts'
import type { PageSink } from '../persistence/page-sink.ts'
import type { Repair } from '../persistence/repair.ts'
import type { HistoryPosition, SnapshotHead } from '../protocol/bootstrap.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { RowOp } from '../protocol/fold.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import type { Replica } from '../records/replica.ts'
import type { Staging } from '../records/staging.ts'
import { LazyTypes } from './lazy-types.ts'
import { PartialSnapshot } from './partial-snapshot.ts'
import { fetched, joined, type Outcome, type Position, positionAt, pushed } from './position.ts'

export interface LocalCopyOptions {
  readonly disk: Disk
  readonly replica: Replica
  /** The types that stay on disk until they are first used. */
  readonly lazy: readonly string[]
  readonly clock: Clock
  readonly listener: CopyListener
  readonly acknowledgements: Acknowledgements
  readonly callerCheck: CallerCheck
}

/** Hears what becomes of a copy. */
export interface CopyListener {
  /** A part of the first snapshot is shown, or more of it. */
  shownInPart(): void
  /** Other data stands in place of the old: of all types, or of those that were loaded. */
  replaced(types?: ReadonlySet<string>): void
  /** What is known from before a restart about records that are missing. */
  restored(repair: Restored['repair']): void
  /** Changes to records that turn out, now that they are restored or loaded, not to be here. */
  missing(ops: readonly RowOp[]): void
}

/** A snapshot that has come whole, and stands ready beside the current data. */
export interface Replacement {
  readonly head: SnapshotHead
  readonly staging: Staging
  readonly pages: PageSink
}

/** With what a delta was asked for. */
export interface Asked {
  readonly since: number
  /** See `LocalCopy.results`. */
  readonly results: number
}

/** One identity's data, in memory and on disk, and how far it has come. */
export class LocalCopy {
  readonly disk: Disk
  readonly firstRows: PartialSnapshot
  readonly callerCheck: CallerCheck
  readonly #options: LocalCopyOptions
  readonly #replica: Replica
  readonly #lazy: LazyTypes
  #position: Position | undefined
  #placedAt: number | undefined

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
      database: () => disk.database,
      listener: {
        join: (staging, types, ops) => this.#join(staging, types, ops),
        lost: (error) => disk.lose(error),
      },
    })
  }

  /** `undefined` until there is data. */
  get position(): Position | undefined {
    return this.#position
  }

  /** When the data that was put in place was fetched or, if restored, stored, in ms since the epoch. */
  get placedAt(): number | undefined {
    return this.#placedAt
  }

  /** Restores what the open disk holds. Never rejects: where the store fails, the copy is in memory alone. */
  async restore(): Promise<void> {
    try {
      this.callerCheck.caller = (await this.disk.database.readCaller()) ?? this.callerCheck.caller
      if (!this.#position) await this.#restore()
    } catch (error) {
      this.disk.suspend(toStorageError(error))
    }
  }

  /** Records nothing new: where the data is gone from the disk, it does not follow from what is there. */
  checkStored(): void {
    if (!this.#position) return
    const { confirmed, epoch } = this.#position
    this.disk.record({ since: confirmed, sid: confirmed, ops: [], epoch })
  }

  /** The records of `t` are wanted here from now on: those that are on the disk alone are loaded. */
  use(t: string): void {
    this.#lazy.use(t)
  }

  /** Begins a second copy, without what may stay on the disk. Where there is none, or it fails, nothing may. */
  stage(): Staging {
    const isStored = this.disk.database !== noDatabase && !this.disk.failure
    return this.#replica.stage(isStored ? this.#lazy.unused : undefined)
  }

  /** To be read when a fetch begins, and passed on with what the fetch brings. */
  get results(): number {
    return this.#options.acknowledgements.results
  }

  /** Takes a delta: the answer to what was `asked`, or one that was pushed. What came of it is shown, and will be stored. */
  take(delta: DeltaMessage, asked?: Asked): Outcome | undefined {
    const { acknowledgements } = this.#options
    const { rows } = this.#replica
    if (!this.#position) return undefined
    const outcome = asked
      ? fetched(this.#position, delta, asked.since, rows)
      : pushed(this.#position, delta, rows)
    const { state, changes, unloadedOps, entry, reset } = outcome
    this.#position = state
    this.#lazy.keep(unloadedOps, state.confirmed)
    // The disk works while the rest is done; but nobody waits until a push is stored, so that it is shown first.
    void this.#storeCaller()
    if (entry) this.disk.record(entry, !asked)
    // What another history says is no verdict on what was sent to this one.
    if (reset || isOtherEpoch(state, delta.epoch)) return outcome
    acknowledgements.heard(delta)
    acknowledgements.change(changes(), state.confirmed, asked?.results ?? 0)
    return outcome
  }

  /**
   * Puts a snapshot in place of the data, on disk first and then in memory, each in one step. Resolves with `false` where
   * what was to stay on the disk is not there, or the disk was opened again: nothing has changed here then, and another
   * one is to come.
   */
  async replace(
    { head, staging, pages }: Replacement,
    results: number,
    repair: Pick<Repair, 'at'>,
  ): Promise<boolean> {
    const { clock } = this.#options
    const isWhole = staging.unloaded.size === 0
    this.#lazy.pause()
    const replaced = await this.disk.replace(pages.database, async () => {
      await this.#storeCaller()
      const failure = (await pages.commit(head, repair)) ?? (await this.#lazy.fill(staging, head))
      if (!failure || isWhole) await staging.prepare()
      return failure
    })
    if (replaced === 'again' || (replaced === 'memory' && !isWhole)) {
      this.#lazy.resume()
      return false
    }
    const { confirmed: sid, epoch } = this.#position ?? {}
    this.#place(staging, head, sid === undefined ? undefined : { sid, epoch }, clock.now(), results)
    return true
  }

  /** Loads nothing more. */
  async close(): Promise<void> {
    await this.#lazy.close()
  }

  /** Stores whose data it is, before the data. Never rejects. */
  #storeCaller(): Promise<void> {
    return this.disk.database.storeCaller(this.callerCheck.caller).catch(() => {})
  }

  async #restore(): Promise<void> {
    const { listener } = this.#options
    const staging = this.stage()
    const restored = await this.disk.database.restore({
      rows: (rows) => staging.add(rows),
      ops: (ops) => staging.apply(ops),
      holds: (t) => !staging.unloaded.has(t),
    })
    if (!restored) return
    await staging.prepare()
    const { owed, at } = restored.repair
    listener.restored({ owed: owed && !this.#position, at })
    // What was fetched meanwhile is newer.
    if (this.#position) return
    if (restored.failure) this.disk.suspend(restored.failure)
    else this.disk.resume()
    this.#place(staging, restored, restored, restored.at, 0)
    if (staging.unknown.length > 0) listener.missing(staging.unknown)
  }

  /**
   * Puts what was fetched or stored at the time `at` in place of the data, with the transactions that it brings. `data`:
   * where the data that it follows ended.
   */
  #place(
    staging: Staging,
    position: HistoryPosition,
    data: HistoryPosition | undefined,
    at: number,
    results: number,
  ): void {
    const { acknowledgements, listener } = this.#options
    const { sid, epoch } = position
    acknowledgements.enter(position, data)
    acknowledgements.reached(sid, results, (shown) => {
      const lift = shown.map(({ id }) => id)
      this.#placedAt = at
      this.#replica.swap(staging, lift)
      this.#position = positionAt(sid, epoch)
      listener.replaced()
      this.#lazy.replaced(position)
    })
  }

  #join(staging: Staging, types: ReadonlySet<string>, ops: readonly RowOp[]): void {
    const { acknowledgements, listener } = this.#options
    let missing: readonly RowOp[] = []
    this.#replica.join(staging, types, () => {
      if (!this.#position) return []
      const { state, changes, unknown } = joined(this.#position, types, ops, this.#replica.rows)
      this.#position = state
      missing = unknown
      return changes()
    })
    listener.replaced(types)
    acknowledgements.loaded()
    if (missing.length > 0) listener.missing(missing)
  }
}
