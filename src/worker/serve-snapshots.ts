import { resolveWorld } from '../base/world.default.ts'
import type { World } from '../base/world.ts'
import { indexedDbStore } from '../storage/indexeddb.ts'
import type { Store } from '../storage/store.ts'
import { answerOf } from '../transport/answer.ts'
import { runCall } from '../transport/call.ts'
import { type CutProgress, cutSnapshot } from '../transport/cut-snapshot.ts'
import { faultOf } from './fault.ts'
import { type Ask, type ToPage, type ToWorker, version } from './messages.ts'
import { SliceWriter } from './slice-writer.ts'

/** So many bytes of slices may wait for the page, and the slice that makes them more. */
const mostUntaken = 8 * 2 ** 20

/** The page hears of the progress between two slices about so often, in ms. */
const progressMs = 100

/** A worker's global scope, as far as it is used here. */
export interface WorkerScope {
  postMessage(message: unknown): void
  onmessage: ((event: MessageEvent<unknown>) => void) | null
}

/** What stands in place of the worker's surroundings. */
export interface ServeSnapshotsOptions {
  /** @default this worker's */
  readonly scope?: WorkerScope
  /** @default the globals */
  readonly world?: Partial<Pick<World, 'fetch' | 'clock'>>
  /** The page's, as this thread reaches it. @default `indexedDbStore()` */
  readonly store?: Store
}

/**
 * Makes of this worker what `snapshotWorker` expects: it fetches a snapshot, cuts it into slices, stores them and hands
 * them to the page. To be called once, as soon as the worker's script runs.
 */
export function serveSnapshots(options: ServeSnapshotsOptions = {}): void {
  // A worker has the scope of one.
  const { scope = globalThis as unknown as WorkerScope, store = indexedDbStore() } = options
  const { fetch, clock } = resolveWorld(options.world)
  const say = (message: ToPage) => scope.postMessage(message)
  let untaken = 0
  let onTaken = () => {}

  const serve = ({ url, init, place }: Ask) =>
    runCall(clock, undefined, async (call) => {
      const unstored = (error: unknown) => say({ kind: 'unstored', fault: faultOf(error) })
      const opening = place && SliceWriter.open(store, clock, place, unstored)
      const answer = await answerOf(fetch(url, init), call)
      const { ok, status, headers, response } = answer
      say({ kind: 'answer', ok, status, headers: [...headers], reason: ok ? '' : await answer.reason() })
      if (!ok) return
      const writer = await opening
      let progress: CutProgress = { bytes: 0, total: 0, count: undefined }
      let toldAt = clock.now()
      const head = await cutSnapshot(
        { response, call, clock },
        {
          async slice({ bytes, text, cut }) {
            const key = await writer?.add(text)
            untaken += bytes
            say({ kind: 'slice', text, bytes, cut, key, progress })
            while (untaken >= mostUntaken) {
              await new Promise<void>((resolve) => {
                onTaken = resolve
              })
            }
          },
          progress(present) {
            progress = present
            if (clock.now() - toldAt < progressMs) return
            toldAt = clock.now()
            say({ kind: 'progress', progress })
          },
        },
      )
      await writer?.end()
      say({ kind: 'end', head, progress })
    })

  scope.onmessage = ({ data }) => {
    // The page has asked for this version of the messages.
    const message = data as ToWorker
    if (message.kind === 'ask') {
      serve(message).catch((error) => say({ kind: 'failed', fault: faultOf(error) }))
      return
    }
    untaken -= message.bytes
    onTaken()
  }
  say({ kind: 'ready', version })
}
