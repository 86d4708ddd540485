import { toSyncError } from '../base/errors.ts'
import { inPage, type SnapshotWorker } from '../transport/snapshot.ts'
import { Conversation, unexpected, type WorkerLike } from './conversation.ts'
import { version } from './messages.ts'
import { WorkerExchange } from './worker-exchange.ts'

/** So long a worker may take to load its script, in ms. */
const readyMs = 10_000

/**
 * Fetches, cuts and stores snapshots in a worker, which `create` makes for each of them, and which ends with it. The
 * worker's script calls `serveSnapshots`. Where it cannot start, a warning is logged, and the page does all by itself; once
 * it has failed in the middle, from then on.
 *
 * @example
 * snapshotWorker(() => new Worker(new URL('./snapshots.js', import.meta.url), { type: 'module' }))
 */
export function snapshotWorker(create: () => WorkerLike): SnapshotWorker {
  let isLost = false
  return {
    async begin(request) {
      const { call, logger } = request
      const warn = (error: unknown) => {
        const message = 'The worker for snapshots cannot be used; the page reads them by itself.'
        logger.warn(message, { error: toSyncError(error) })
      }
      if (isLost) return undefined
      const onLost = (error: unknown) => {
        isLost = true
        warn(error)
      }
      let worker: Conversation | undefined
      let exchange: WorkerExchange
      try {
        worker = new Conversation(create())
        exchange = new WorkerExchange(worker, request, onLost)
        await call.wait(ready(worker), readyMs, 'Starting the worker')
      } catch (error) {
        worker?.end()
        if (call.signal.aborted) throw error
        warn(error)
        return undefined
      }
      return (url, init) => exchange.ask(url, init, inPage(request))
    },
  }
}

async function ready(worker: Conversation): Promise<void> {
  const message = await worker.next()
  if (message.kind !== 'ready' || message.version !== version) throw unexpected(message)
}
