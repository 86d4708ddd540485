import type { Position } from '../log.ts'
import type { Cursor, SqlCursor } from './cursor.ts'
import type { LongReads } from './long-reads.ts'
import { SpoolFile } from './spool.ts'

/** An open snapshot. */
export interface OpenSnapshot {
  readonly position: Position
  readonly count: number
  readonly cursor: Cursor
}

/** A snapshot in a file. */
interface SharedSnapshot extends OpenSnapshot {
  readonly file: SpoolFile
}

export interface SnapshotsOptions {
  /** Whether the snapshot of `owners` is long, so that it has to wait for its turn. */
  readonly isLong: (owners: readonly string[]) => Promise<boolean>
  readonly open: (owners: readonly string[]) => Promise<OpenSnapshot & { readonly cursor: SqlCursor }>
  /** Whether a snapshot of `owners` at `position` is as good as a new one. */
  readonly isCurrent: (owners: readonly string[], position: Position) => Promise<boolean>
  /** Where long snapshots take turns. */
  readonly long: LongReads
}

/**
 * Opens snapshots, long ones in turn. If a long one is read already, the next callers with the same owners share another
 * one, in a file.
 */
export class Snapshots {
  readonly #options: SnapshotsOptions
  /** By the owners: the snapshots in files, and those that are read by one caller. */
  readonly #shared = new Map<string, Promise<SharedSnapshot>>()
  readonly #single = new Set<string>()

  constructor(options: SnapshotsOptions) {
    this.#options = options
  }

  /** Opens the snapshot of `owners`. Its cursor must be closed, or read to its end. */
  async open(owners: readonly string[], caller: string | undefined): Promise<OpenSnapshot> {
    if (!(await this.#options.isLong(owners))) return this.#options.open(owners)
    const key = JSON.stringify([...owners].sort())
    for (;;) {
      const asked = this.#shared.get(key)
      if (!asked) break
      const shared = await asked.catch(() => undefined)
      const isCurrent = shared?.file.isOpen && (await this.#options.isCurrent(owners, shared.position))
      if (shared && isCurrent && shared.file.isOpen) return { ...shared, cursor: shared.file.read() }
      // Only one of those who found that opens the next one.
      if (this.#shared.get(key) === asked) break
    }
    if (this.#single.has(key)) return this.#openShared(key, owners, caller)
    this.#single.add(key)
    return this.#options.long.inTurn(
      caller,
      () => this.#options.open(owners),
      () => this.#single.delete(key),
    )
  }

  #openShared(key: string, owners: readonly string[], caller: string | undefined): Promise<OpenSnapshot> {
    const forget = () => {
      if (this.#shared.get(key) === opening) this.#shared.delete(key)
    }
    const { long, open } = this.#options
    const opening = long
      .inTurn(caller, () => open(owners))
      .then((opened) => {
        const file = new SpoolFile(opened.cursor, forget)
        return { ...opened, file, cursor: file.read() }
      })
    this.#shared.set(key, opening)
    opening.catch(forget)
    return opening
  }
}
