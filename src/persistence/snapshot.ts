import type { Clock } from '../base/environment.ts'
import { StorageError } from '../base/errors.ts'
import type { SnapshotWriter } from './database.ts'
import type { FencedConnection } from './fence.ts'
import { format, type Head, type Manifest } from './format.ts'
import type { Generations } from './generations.ts'
import { writeRepair } from './repair.ts'

export interface StoredSnapshotOptions {
  readonly clock: Clock
  readonly version: number
  readonly onCommit: (manifest: Manifest) => void
}

/** Begins a snapshot, whose pages are written beside the current ones. */
export function beginSnapshot(
  database: FencedConnection,
  generations: Generations,
  { clock, version, onCommit }: StoredSnapshotOptions,
): SnapshotWriter {
  const pages = generations.begin()
  const refuseIfOver = () => {
    if (!pages.isUnderWay()) throw new StorageError('aborted', 'This snapshot is over: begin another.')
  }
  return {
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
        writeRepair(tx, { owed, at, unknown })
        await generations.switchTo(tx, head, manifest)
      })
      pages.end()
      onCommit(manifest)
    },

    async abort() {
      if (!pages.isUnderWay()) return
      pages.end()
      // Of a commit whose outcome is not known, the pages are in the manifest or not: so they stay or go.
      await generations.sweep()
    },
  }
}
