import { StorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { SnapshotPlace } from '../transport/transport.ts'
import type { Page, SnapshotWriter } from './database.ts'
import type { FencedConnection } from './fence.ts'
import { format, type Head, type Manifest } from './format.ts'
import type { Generations, PageWriter } from './generations.ts'

/** Writes the pages of one snapshot beside the current ones. */
export class StoredSnapshot implements SnapshotWriter {
  readonly #database: FencedConnection
  readonly #generations: Generations
  readonly #clock: Clock
  readonly #version: number
  readonly #onCommit: (manifest: Manifest) => void
  readonly #pages: PageWriter
  /** Whose pages another thread writes. */
  #lent: PageWriter | undefined

  constructor(
    database: FencedConnection,
    generations: Generations,
    clock: Clock,
    version: number,
    onCommit: (manifest: Manifest) => void,
  ) {
    this.#database = database
    this.#generations = generations
    this.#clock = clock
    this.#version = version
    this.#onCommit = onCommit
    this.#pages = generations.begin()
  }

  lend(): SnapshotPlace | undefined {
    const { name, fence } = this.#database
    if (name === undefined) return undefined
    this.#lent ??= this.#generations.begin()
    return { name, fence, generation: this.#lent.id }
  }

  async page(...pages: readonly Page[]): Promise<void> {
    this.#refuseIfOver()
    await this.#pages.add(...pages)
  }

  async commit({ sid, epoch }: Pick<SnapshotHead, 'sid' | 'epoch'>): Promise<void> {
    this.#refuseIfOver()
    const manifest = await this.#pages.manifest()
    const head: Head = {
      format,
      generation: this.#pages.id,
      base: sid,
      at: this.#clock.now(),
      version: this.#version,
      ...(epoch === undefined ? undefined : { epoch }),
    }
    await this.#database.write(['pages', 'journal'], async (tx) => {
      this.#refuseIfOver()
      tx.delete('journal', {})
      await this.#generations.switchTo(tx, head, manifest)
    })
    this.#end()
    this.#onCommit(manifest)
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
