import { StorageError } from '../base/errors.ts'
import type { Clock } from '../base/world.ts'
import type { SnapshotWriter } from './database.ts'
import type { FencedConnection } from './fence.ts'
import { format, type Head, type Manifest, metaKeys } from './format.ts'
import type { Generations, PageWriter } from './generations.ts'
import { writeRepair } from './repair.ts'

export interface StoredSnapshotOptions {
  readonly clock: Clock
  readonly version: number
  /** By which a worker opens the same database; `undefined` where none can. */
  readonly shared: string | undefined
  readonly onCommit: (manifest: Manifest) => void
}

/** Begins a snapshot, whose pages are written beside the current ones. */
export function beginSnapshot(
  database: FencedConnection,
  generations: Generations,
  { clock, version, shared, onCommit }: StoredSnapshotOptions,
): SnapshotWriter {
  const pages = generations.begin()
  /** Whose pages another thread writes. */
  let lent: PageWriter | undefined
  const refuseIfOver = () => {
    if (!pages.isUnderWay()) throw new StorageError('aborted', 'This snapshot is over: begin another.')
  }
  const end = () => {
    pages.end()
    lent?.end()
  }
  return {
    async lend() {
      refuseIfOver()
      if (shared === undefined) return undefined
      lent ??= generations.begin()
      const { id } = lent
      await database.write([], async (tx) => tx.put('meta', metaKeys.lent, id))
      return { name: shared, fence: database.fence, generation: id }
    },

    async page(...added) {
      refuseIfOver()
      await pages.add(...added)
    },

    async commit({ sid, epoch }, { owed = false, at, unknown = [] } = {}) {
      refuseIfOver()
      const manifest = await pages.manifest()
      const head: Head = {
        format,
        generation: pages.id,
        base: sid,
        at: clock.now(),
        version,
        ...(epoch === undefined ? undefined : { epoch }),
      }
      await database.write(['pages', 'journal'], async (tx) => {
        refuseIfOver()
        await database.cut(tx, {})
        tx.delete('meta', metaKeys.lent)
        writeRepair(tx, { owed, at, unknown })
        await generations.switchTo(tx, head, manifest)
      })
      end()
      onCommit(manifest)
    },

    async abort() {
      if (!pages.isUnderWay()) return
      end()
      // Of a commit whose outcome is not known, the pages are in the manifest or not: so they stay or go.
      await generations.sweep()
    },
  }
}
