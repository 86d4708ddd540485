import type { Clock } from '../base/environment.ts'
import { StorageError } from '../base/errors.ts'
import type { Connection } from './connection.ts'
import { format, type Head, type Manifest } from './format.ts'
import type { Generations } from './generations.ts'
import { writeRepair } from './repair.ts'
import type { SnapshotWriter } from './stored-data.ts'

export interface StoredSnapshotOptions {
  readonly clock: Clock
  readonly version: number
  readonly onCommit: (manifest: Manifest) => void
}

/** Begins a snapshot. The current pages stay complete until `commit`. */
export function beginSnapshot(
  database: Connection,
  generations: Generations,
  { clock, version, onCommit }: StoredSnapshotOptions,
): SnapshotWriter {
  const pages = generations.begin()
  const throwIfEnded = () => {
    if (!pages.isUnderWay()) throw new StorageError('aborted', 'This snapshot has ended: begin another.')
  }
  return {
    async page(...added) {
      throwIfEnded()
      await pages.add(...added)
    },

    async commit({ sid, epoch }, { owed = false, at } = {}) {
      throwIfEnded()
      const manifest = await pages.manifest()
      const head: Head = {
        format,
        generation: pages.id,
        base: sid,
        at: clock.now(),
        version,
        copy: pages.id,
        ...(epoch === undefined ? undefined : { epoch }),
      }
      await database.write(
        ['pages', 'journal'],
        async (tx) => {
          throwIfEnded()
          tx.delete('journal', {})
          writeRepair(tx, { owed, at })
          await generations.switchTo(tx, head, manifest)
        },
        pages.fence,
      )
      pages.end()
      onCommit(manifest)
      return pages.id
    },

    async abort() {
      if (!pages.isUnderWay()) return
      pages.end()
      // The outcome of a commit may be unknown. The sweep keeps the pages if the manifest lists them, and removes them
      // otherwise.
      await generations.sweep()
    },
  }
}
