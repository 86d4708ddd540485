import { type SyncError, toStorageError } from '../base/errors.ts'
import type { Data } from '../persistence/data.ts'
import { unreadable } from '../persistence/format.ts'
import type { Restored } from '../persistence/stored-data.ts'
import type { HistoryPosition } from '../protocol/bootstrap.ts'
import { keyOf, type RowOp } from '../protocol/fold.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import type { Replica } from '../records/replica.ts'
import type { Staging } from '../records/staging.ts'

/** If the disk fails to return a type, the type is read once more at once. Later reads happen at the next use. */
const maxReads = 2

export interface LazyTypesOptions {
  readonly types: readonly string[]
  readonly replica: Replica
  readonly data: Data
  readonly listener: LazyListener
}

export interface LazyListener {
  /**
   * The records of `types` were read from the disk. Apply `ops` to them, and show them at once. `owesRepair`: the disk
   * lacks records.
   */
  join(staging: Staging, types: ReadonlySet<string>, ops: readonly RowOp[], owesRepair: boolean): void
  /** The disk cannot return a type that is in use. */
  lost(error: SyncError): void
}

/** Loads the types that stay on disk until their first use, and keeps the changes of their records until then. */
export class LazyTypes {
  readonly #options: LazyTypesOptions
  readonly #unused: Set<string>
  /** The changes of each record since it was left on the disk: one op, or a removal followed by an update. */
  readonly #kept = new Map<string, readonly RowOp[]>()
  /**
   * The position of the data when the unused types were left on the disk. The stored position is this one or a later
   * one.
   */
  #base: HistoryPosition | undefined
  /** The position up to which `#kept` has the changes. */
  #keptTo = Number.NEGATIVE_INFINITY
  #isPaused = false
  #loading: Promise<void> | undefined

  constructor(options: LazyTypesOptions) {
    this.#options = options
    this.#unused = new Set(options.types)
  }

  get unused(): ReadonlySet<string> {
    return this.#unused
  }

  /** Marks the type `t` as used, and loads its records if they are not in memory. */
  use(t: string): void {
    this.#unused.delete(t)
    if (this.#isMissing(t)) this.#loadUsed()
  }

  /** Keeps the changes of records that are not in memory, up to the position `sid`. */
  keep(ops: readonly RowOp[], sid: number): void {
    this.#keptTo = sid
    for (const op of ops) {
      const key = keyOf(op)
      this.#kept.set(key, combined(this.#kept.get(key) ?? [], op))
    }
  }

  /** Stops loading while a snapshot replaces the data on the disk. Call `replaced` or `resume` afterwards. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#loadUsed()
  }

  /** Call when the data in memory was replaced, and the unused types of the new data are on the disk. */
  replaced(base: HistoryPosition): void {
    this.#kept.clear()
    this.#base = base
    this.#keptTo = base.sid
    this.resume()
  }

  /**
   * Adds to `staging` the types that were used first during the download, and are on the disk only. Resolves with the
   * error if reading them fails.
   */
  async fill(staging: Staging, head: HistoryPosition): Promise<SyncError | undefined> {
    const types = this.#used((t) => staging.unloaded.has(t))
    staging.include(types)
    try {
      if (types.size > 0) await this.#read(types, staging, head)
      return undefined
    } catch (error) {
      return toStorageError(error)
    }
  }

  /** Stops loading for good. Resolves once no read is running. */
  async close(): Promise<void> {
    this.#base = undefined
    await this.#loading
  }

  #loadUsed(): void {
    this.#loading ??= this.#load()
  }

  async #load(): Promise<void> {
    const { listener } = this.#options
    const reads = new Map<string, number>()
    let failure: SyncError | undefined
    // Read all types together whose first use is in the same turn.
    await undefined
    for (let base = this.#base; base && !this.#isPaused; base = this.#base) {
      const types = this.#used((t) => this.#isMissing(t) && (reads.get(t) ?? 0) < maxReads)
      if (types.size === 0) break
      try {
        await this.#loadTypes(types, base)
      } catch (thrown) {
        if (this.#base !== base) continue
        failure = toStorageError(thrown)
        for (const t of types)
          reads.set(t, failure.code === 'unreadable' ? maxReads : (reads.get(t) ?? 0) + 1)
      }
    }
    this.#loading = undefined
    const isIncomplete = this.#base && !this.#isPaused && this.#used((t) => this.#isMissing(t)).size > 0
    if (failure && isIncomplete) listener.lost(failure)
  }

  /** Reads `types` and shows them. Has no effect if the data is replaced during the read. */
  async #loadTypes(types: ReadonlySet<string>, base: HistoryPosition): Promise<void> {
    const { replica, listener } = this.#options
    const staging = replica.stage()
    const { sid, repair } = await this.#read(types, staging, base)
    const applied = new Set(this.#keptAfter(sid, types))
    staging.apply([...applied])
    await staging.prepare()
    if (this.#base !== base || this.#isPaused) return
    const rest = this.#keptAfter(sid, types).filter((op) => !applied.has(op))
    for (const kept of this.#keptOf(types)) this.#kept.delete(keyOf(kept))
    // `join` reports the updates of unknown records, unless `rest` brings the record.
    listener.join(staging, types, [...staging.unknown, ...rest], repair.owed)
  }

  /**
   * Adds the stored records of `types` to `staging`. The stored position may be above `sid`, if another client has
   * stored more of the same history. Throws a StorageError of code `unreadable` for older data or another history.
   */
  async #read(
    types: ReadonlySet<string>,
    staging: Staging,
    { sid, epoch }: HistoryPosition,
  ): Promise<Restored> {
    const isOf = ({ t }: { readonly t: string }) => types.has(t)
    const stored = await this.#options.data.read({
      begin: () => staging.clear(types),
      rows: (rows) => staging.add(rows.filter(isOf)),
      ops: (ops) => staging.apply(ops.filter(isOf)),
      holds: (t) => types.has(t),
    })
    const isSame = stored && stored.sid >= sid && !isOtherEpoch(stored, epoch)
    if (!isSame) throw unreadable(`The type ${[...types].join(', ')}`)
    return stored
  }

  /**
   * The kept ops of `types`. None if the data that is stored up to `sid` includes all of them: a kept op could bring
   * back a record that was removed since.
   */
  #keptAfter(sid: number, types: ReadonlySet<string>): readonly RowOp[] {
    return sid < this.#keptTo ? this.#keptOf(types) : []
  }

  /** The kept ops of `types`. Each op may also be applied to a later state of its record. */
  #keptOf(types: ReadonlySet<string>): readonly RowOp[] {
    return [...this.#kept.values()].flat().filter(({ t }) => types.has(t))
  }

  /** The types in use for which `matches` returns true. */
  #used(matches: (t: string) => boolean): ReadonlySet<string> {
    return new Set(this.#options.types.filter((t) => !this.#unused.has(t) && matches(t)))
  }

  #isMissing(t: string): boolean {
    return !this.#options.replica.rows.has(t)
  }
}

/**
 * Ops with the effect of `kept` followed by `op`, on any row. An update after a removal stays a separate op, so that it
 * is reported as an update of an unknown record.
 */
function combined(kept: readonly RowOp[], op: RowOp): readonly RowOp[] {
  const last = kept.at(-1)
  if (op.op !== 'u' || !last) return [op]
  return last.op === 'd' ? [last, op] : [...kept.slice(0, -1), { ...last, p: { ...last.p, ...op.p } }]
}
