import { type SyncError, toStorageError } from '../base/errors.ts'
import type { Database } from '../database/database.ts'
import { unreadable } from '../database/format.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import { type RowOp, rowKey } from '../protocol/fold.ts'
import type { Replica, Staging } from '../replica/replica.ts'

export interface LazyTypesOptions {
  readonly types: readonly string[]
  readonly replica: Replica
  readonly database: () => Database
  readonly listener: LazyListener
}

export interface LazyListener {
  /** The records of `types` have come from the disk; `ops` have happened to them since. To be shown at once. */
  loaded(staging: Staging, types: ReadonlySet<string>, ops: readonly RowOp[]): void
  /** What is used cannot be had from the disk. */
  lost(error: SyncError): void
}

type Position = Pick<SnapshotHead, 'sid' | 'epoch'>

/** The types that stay on disk until they are first used, and what becomes of their records until then. */
export class LazyTypes {
  readonly #options: LazyTypesOptions
  readonly #unused: Set<string>
  /** What happened since to each record that was left on the disk, as one op. */
  readonly #changes = new Map<string, RowOp>()
  /** Where the data was when it was left there: it is still there at that position, or at a later one. */
  #base: Position | undefined
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
    if (this.#unused.delete(t)) this.#loadUsed()
  }

  /** Keeps what happened to records that are not here. */
  keep(ops: readonly RowOp[]): void {
    for (const op of ops) {
      const key = rowKey(op.t, op.id)
      this.#changes.set(key, joined(this.#changes.get(key), op))
    }
  }

  /** Other data was put in place, and the rest of it left on the disk. */
  placed(base: Position): void {
    this.#changes.clear()
    this.#base = base
    this.#loadUsed()
  }

  /** Adds what was used while a snapshot came, and is on the disk alone. Resolves with why it could not, if so. */
  async fill(staging: Staging, head: Position): Promise<SyncError | undefined> {
    const types = this.#used(staging.left)
    for (const t of types) staging.left.delete(t)
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
    // What is used in one turn is read at once.
    await undefined
    try {
      while (this.#base) {
        const types = this.#used(this.#options.replica.left)
        if (types.size === 0) break
        await this.#loadTypes(types, this.#base)
      }
    } catch (error) {
      this.#options.listener.lost(toStorageError(error))
    }
    this.#loading = undefined
  }

  /** Where other data takes the place of the data meanwhile, nothing comes of it. */
  async #loadTypes(types: ReadonlySet<string>, base: Position): Promise<void> {
    const { replica, listener } = this.#options
    const staging = replica.stage()
    await this.#read(types, staging, base)
    if (this.#base !== base) return
    staging.apply(this.#take(types))
    await staging.prepare()
    if (this.#base === base) listener.loaded(staging, types, this.#take(types))
  }

  /** Adds what is stored of `types`. Another client may have stored more of the same history meanwhile. */
  async #read(types: ReadonlySet<string>, staging: Staging, { sid, epoch }: Position): Promise<void> {
    const isOf = ({ t }: { readonly t: string }) => types.has(t)
    const stored = await this.#options.database().read({
      rows: (rows) => staging.add(rows.filter(isOf)),
      ops: (ops) => staging.apply(ops.filter(isOf)),
      holds: (t) => types.has(t),
    })
    const isSame = stored && stored.sid >= sid && (stored.epoch ?? epoch) === (epoch ?? stored.epoch)
    if (!isSame) throw unreadable(`What is stored of ${[...types].join(', ')}`)
  }

  /** Gives what was kept of `types`, and keeps it no longer. It may be applied to any later state of them, too. */
  #take(types: ReadonlySet<string>): readonly RowOp[] {
    const taken = [...this.#changes].filter(([, { t }]) => types.has(t))
    for (const [key] of taken) this.#changes.delete(key)
    return taken.map(([, op]) => op)
  }

  #used(types: ReadonlySet<string>): ReadonlySet<string> {
    return new Set([...types].filter((t) => !this.#unused.has(t)))
  }
}

/** What does to any row what `first` and then `second` do. */
function joined(first: RowOp | undefined, second: RowOp): RowOp {
  if (second.op !== 'u' || !first) return second
  return first.op === 'd' ? first : { ...first, p: { ...first.p, ...second.p } }
}
