import type { SnapshotProgress, Transport } from '../network/transport.ts'
import { PageSink } from '../persistence/page-sink.ts'
import type { LocalCopy, Replacement } from './local-copy.ts'

/** What came of a snapshot. */
export interface Download extends Replacement {
  readonly rows: number
  /** What was wrong with each item that was left out. */
  readonly broken: readonly string[]
}

/**
 * Streams a snapshot into a second copy and onto the disk. Where it fails, nothing of it is left. What the disk does not
 * take, though it was to be there alone, begins again at once, to be held in memory whole.
 */
export async function download(
  transport: Transport,
  copy: LocalCopy,
  signal: AbortSignal,
  onProgress: (progress: SnapshotProgress) => void,
): Promise<Download> {
  const staging = copy.stage()
  const pages = new PageSink(copy.disk.database)
  const broken: string[] = []
  let rows = 0
  let progress: SnapshotProgress | undefined
  try {
    const head = await transport.bootstrap(
      {
        async slice(slice) {
          staging.add(slice.rows)
          for (const fault of slice.broken) broken.push(fault)
          rows += slice.rows.length
          await pages.add(slice)
          if (pages.failure && staging.unloaded.size > 0) throw pages.failure
          // What has come in one piece is about to be whole.
          if (progress) await copy.firstRows.came(staging, rows, progress.fraction)
        },
        progress: (present) => {
          if (!progress) copy.firstRows.begin()
          progress = present
          onProgress(present)
        },
      },
      signal,
    )
    return { head, staging, pages, rows, broken }
  } catch (error) {
    await pages.abort()
    if (error !== pages.failure || signal.aborted) throw error
    copy.disk.suspend(pages.failure)
    return download(transport, copy, signal, onProgress)
  }
}

/** Whether as many rows came as the snapshot said. */
export function isComplete({ head, rows, broken }: Download): boolean {
  return head.count === undefined || head.count === rows + broken.length
}
