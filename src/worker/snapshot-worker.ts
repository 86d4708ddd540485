import { type SyncError, toSyncError } from '../base/errors.ts'
import type { SnapshotWorker } from '../transport/snapshot.ts'
import { Conversation, type WorkerLike } from './conversation.ts'
import { unexpected, version } from './messages.ts'
import { WorkerReader } from './worker-reader.ts'

/** So long a worker may take to load its script, in ms. */
const readyMs = 10_000

/**
 * Fetches, cuts and stores snapshots in a worker, which `create` makes for each of them, and which ends with it. The
 * worker's script calls `serveSnapshots`. Where it cannot be used, a warning is logged, and the page does all by itself
 * from then on.
 *
 * @example
 * snapshotWorker(() => new Worker(new URL('./snapshots.js', import.meta.url), { type: 'module' }))
 */
export function snapshotWorker(create: () => WorkerLike): SnapshotWorker {
  let lost: SyncError | undefined
  return {
    async begin(call, logger) {
      const onLost = (error: unknown) => {
        lost = toSyncError(error)
        logger.warn('The worker for snapshots cannot be used; the page reads them by itself.', {
          error: lost,
        })
      }
      if (lost) return undefined
      try {
        const worker = new Conversation(create(), call.signal)
        await call.wait(ready(worker), readyMs, 'Starting the worker')
        return new WorkerReader(worker, call, onLost)
      } catch (error) {
        if (call.signal.aborted) throw error
        onLost(error)
        return undefined
      }
    },
  }
}

async function ready(worker: Conversation): Promise<void> {
  const message = await worker.next()
  if (message.kind === 'ready' && message.version === version) return
  throw unexpected(message)
}
