import { StorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import type { HistoryPosition } from '../protocol/bootstrap.ts'
import type { SnapshotPlace } from '../transport/transport.ts'
import type { Page, SnapshotWriter } from './database.ts'
import type { FencedConnection } from './fence.ts'
import { format, type Head, type Manifest, metaKeys } from './format.ts'
import type { Generations, PageWriter } from './generations.ts'

export interface StoredSnapshotOptions {
  readonly clock: Clock
  readonly version: number
  /** By which a worker opens the same database; `undefined` where none can. */
  readonly shared: string | undefined
  readonly onCommit: (manifest: Manifest) => void
}

/** Writes the pages of one snapshot beside the current ones. */
export class StoredSnapshot implements SnapshotWriter {
  readonly #database: FencedConnection
  readonly #generations: Generations
  readonly #options: StoredSnapshotOptions
  readonly #pages: PageWriter
  /** Whose pages another thread writes. */
  #lent: PageWriter | undefined

  constructor(database: FencedConnection, generations: Generations, options: StoredSnapshotOptions) {
    this.#database = database
    this.#generations = generations
    this.#options = options
    this.#pages = generations.begin()
  }

  async lend(): Promise<SnapshotPlace | undefined> {
    this.#refuseIfOver()
    const { shared } = this.#options
    if (shared === undefined) return undefined
    this.#lent ??= this.#generations.begin()
    const { id } = this.#lent
    await this.#database.write([], async (tx) => tx.put('meta', metaKeys.lent, id))
    return { name: shared, fence: this.#database.fence, generation: id }
  }

  async page(...pages: readonly Page[]): Promise<void> {
    this.#refuseIfOver()
    await this.#pages.add(...pages)
  }

  async commit({ sid, epoch }: HistoryPosition): Promise<void> {
    this.#refuseIfOver()
    const manifest = await this.#pages.manifest()
    const head: Head = {
      format,
      generation: this.#pages.id,
      base: sid,
      at: this.#options.clock.now(),
      version: this.#options.version,
      ...(epoch === undefined ? undefined : { epoch }),
    }
    await this.#database.write(['pages', 'journal'], async (tx) => {
      this.#refuseIfOver()
      await this.#database.cut(tx, {})
      tx.delete('meta', metaKeys.lent)
      await this.#generations.switchTo(tx, head, manifest)
    })
    this.#end()
    this.#options.onCommit(manifest)
  }

  async abort(): Promise<void> {
    if (!this.#generations.isUnderWay(this.#pages)) return
    this.#end()
    // Of a commit whose outcome is not known, the pages are in the manifest or not: so they stay or go.
    await this.#generations.sweep()
  }

  #end(): void {
    this.#generations.end(this.#pages)
    if (this.#lent) this.#generations.end(this.#lent)
  }

  #refuseIfOver(): void {
    if (this.#generations.isUnderWay(this.#pages)) return
    throw new StorageError('aborted', 'This snapshot is over: begin another.')
  }
}
