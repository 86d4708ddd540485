import type { SnapshotProgress, Transport } from '../network/transport.ts'
import { PageSink } from '../persistence/page-sink.ts'
import type { LocalCopy, Replacement } from './local-copy.ts'

type Progress = Omit<SnapshotProgress, 'attempt'>

/** A downloaded snapshot. */
export interface Download extends Replacement {
  readonly rows: number
  /** One description of the fault for each item that was left out. */
  readonly broken: readonly string[]
}

/**
 * Streams a snapshot into a second copy and onto the disk. A failed download leaves nothing stored. If the disk fails
 * while unused lazy types are to be on the disk only, the download starts again at once, with all types in memory.
 * `begin` is called for each try, and returns the function that receives the progress.
 */
export async function download(
  transport: Transport,
  copy: LocalCopy,
  signal: AbortSignal,
  begin: () => (progress: Progress) => void,
): Promise<Download> {
  const onProgress = begin()
  const staging = copy.stage()
  const pages = new PageSink(copy.disk.data, copy.disk.term)
  const broken: string[] = []
  let rows = 0
  let progress: Progress | undefined
  try {
    const head = await transport.bootstrap(
      {
        async slice(slice) {
          staging.add(slice.rows)
          for (const description of slice.broken) broken.push(description)
          rows += slice.rows.length
          await pages.add(slice)
          if (pages.failure && staging.unloaded.size > 0) throw pages.failure
          // Without any progress event, the snapshot came in one piece and is about to be complete.
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
    return download(transport, copy, signal, begin)
  }
}

/** Whether the snapshot has as many rows as its head declares. */
export function isComplete({ head, rows, broken }: Download): boolean {
  return head.count === undefined || head.count === rows + broken.length
}
