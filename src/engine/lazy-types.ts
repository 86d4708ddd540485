import { type SyncError, toStorageError } from '../base/errors.ts'
import type { Database } from '../persistence/database.ts'
import { unreadable } from '../persistence/format.ts'
import type { HistoryPosition } from '../protocol/bootstrap.ts'
import { type RowOp, rowKey } from '../protocol/fold.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import type { Replica } from '../records/replica.ts'
import type { Staging } from '../records/staging.ts'

/** A type that the disk did not give is read once more at once, and from then on when it is used again. */
const maxReads = 2

export interface LazyTypesOptions {
  readonly types: readonly string[]
  readonly replica: Replica
  readonly database: () => Database
  readonly listener: LazyListener
}

export interface LazyListener {
  /** The records of `types` have come from the disk; `ops` are to be applied to them. To be shown at once. */
  join(staging: Staging, types: ReadonlySet<string>, ops: readonly RowOp[]): void
  /** What is used cannot be had from the disk. */
  lost(error: SyncError): void
}

/** The types that stay on disk until they are first used, and what becomes of their records until then. */
export class LazyTypes {
  readonly #options: LazyTypesOptions
  readonly #unused: Set<string>
  /** What happened to each record since it was left on the disk, as one op, or as an update behind a removal. */
  readonly #kept = new Map<string, readonly RowOp[]>()
  /** Where the data was when it was left there: it is still there at that position, or at a later one. */
  #base: HistoryPosition | undefined
  /** Up to which position what happened is kept. */
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

  /** The records of `t` are wanted from now on. */
  use(t: string): void {
    this.#unused.delete(t)
    if (this.#isMissing(t)) this.#loadUsed()
  }

  /** Keeps what happened to records that are not here, up to the position `sid`. */
  keep(ops: readonly RowOp[], sid: number): void {
    this.#keptTo = sid
    for (const op of ops) {
      const key = rowKey(op.t, op.id)
      this.#kept.set(key, joined(this.#kept.get(key) ?? [], op))
    }
  }

  /** Loads nothing, since other data is about to stand on the disk, until it was `replaced`, or to `resume`. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#loadUsed()
  }

  /** Other data was put in place, and the rest of it left on the disk. */
  replaced(base: HistoryPosition): void {
    this.#kept.clear()
    this.#base = base
    this.#keptTo = base.sid
    this.resume()
  }

  /** Adds what was used while a snapshot came, and is on the disk alone. Resolves with why it could not, if so. */
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

  /** Loads nothing more. */
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
    // What is used in one turn is read at once.
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
    const isWanting = this.#base && !this.#isPaused && this.#used((t) => this.#isMissing(t)).size > 0
    if (failure && isWanting) listener.lost(failure)
  }

  /** Where other data takes the place of the data meanwhile, nothing comes of it. */
  async #loadTypes(types: ReadonlySet<string>, base: HistoryPosition): Promise<void> {
    const { replica, listener } = this.#options
    const staging = replica.stage()
    const sid = await this.#read(types, staging, base)
    const applied = new Set(this.#since(sid, types))
    staging.apply([...applied])
    await staging.prepare()
    if (this.#base !== base || this.#isPaused) return
    const rest = this.#since(sid, types).filter((op) => !applied.has(op))
    for (const { t, id } of this.#of(types)) this.#kept.delete(rowKey(t, id))
    // What was not known there is told, unless something came meanwhile that makes it known.
    listener.join(staging, types, [...staging.unknown, ...rest])
  }

  /**
   * Adds what is stored of `types`. Another client may have stored more of the same history meanwhile: resolves with the
   * position that it has reached.
   */
  async #read(
    types: ReadonlySet<string>,
    staging: Staging,
    { sid, epoch }: HistoryPosition,
  ): Promise<number> {
    const isOf = ({ t }: { readonly t: string }) => types.has(t)
    const stored = await this.#options.database().read({
      rows: (rows) => staging.add(rows.filter(isOf)),
      ops: (ops) => staging.apply(ops.filter(isOf)),
      holds: (t) => types.has(t),
    })
    const isSame = stored && stored.sid >= sid && !isOtherEpoch(stored, epoch)
    if (!isSame) throw unreadable(`What is stored of ${[...types].join(', ')}`)
    return stored.sid
  }

  /** What was kept of `types`, unless all of it is in what is stored up to `sid`: a record may be removed there by now. */
  #since(sid: number, types: ReadonlySet<string>): readonly RowOp[] {
    return sid < this.#keptTo ? this.#of(types) : []
  }

  /** What was kept of `types`. Each may be applied to any later state of its record, too. */
  #of(types: ReadonlySet<string>): readonly RowOp[] {
    return [...this.#kept.values()].flat().filter(({ t }) => types.has(t))
  }

  /** Those that were used, as far as each `matches`. */
  #used(matches: (t: string) => boolean): ReadonlySet<string> {
    return new Set(this.#options.types.filter((t) => !this.#unused.has(t) && matches(t)))
  }

  #isMissing(t: string): boolean {
    return !this.#options.replica.rows.has(t)
  }
}

/** What does to any row what `kept` and then `op` do, and tells as much of a record that is not there. */
function joined(kept: readonly RowOp[], op: RowOp): readonly RowOp[] {
  const last = kept.at(-1)
  if (op.op !== 'u' || !last) return [op]
  return last.op === 'd' ? [last, op] : [...kept.slice(0, -1), { ...last, p: { ...last.p, ...op.p } }]
}
