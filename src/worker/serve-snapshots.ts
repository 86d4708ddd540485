import { resolveWorld } from '../base/world.default.ts'
import type { World } from '../base/world.ts'
import { indexedDbStore } from '../storage/indexeddb.ts'
import type { Store } from '../storage/store.ts'
import { textOf } from '../transport/byte-buffer.ts'
import { runCall } from '../transport/call.ts'
import { cutSnapshot } from '../transport/cut-snapshot.ts'
import type { SnapshotProgress } from '../transport/transport.ts'
import { faultOf, type ToPage, type ToRead, type ToWorker, version } from './messages.ts'
import { SliceWriter } from './slice-writer.ts'

/** So many slices may wait for the page: 8 MB. */
const mostUntaken = 32

/** The page hears of the progress between two slices about so often, in ms. */
const progressMs = 100

/** Of an answer that is no 2xx, so many characters reach the page. */
const mostText = 16 * 1024

/** A worker's global scope, as far as it is used here. */
export interface WorkerScope {
  postMessage(message: unknown, transfer: Transferable[]): void
  onmessage: ((event: MessageEvent<unknown>) => void) | null
}

export interface ServeSnapshotsOptions {
  /** @default this worker's */
  readonly scope?: WorkerScope
  /** @default the globals */
  readonly world?: Partial<Pick<World, 'fetch' | 'clock'>>
  /** @default `indexedDbStore()` */
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
  const say = (message: ToPage, ...transfer: Transferable[]) => scope.postMessage(message, transfer)
  let untaken = 0
  let onTaken = () => {}

  const ask = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(url, init)
    const { ok, status, headers } = response
    const text = ok ? '' : (await response.text()).slice(0, mostText)
    say({ kind: 'answer', status, headers: [...headers], text })
    return response
  }

  const read = async (response: Response, { idleMs, maxRowBytes, place }: ToRead) => {
    const unstored = (error: unknown) => say({ kind: 'unstored', fault: faultOf(error) })
    const writer = place && new SliceWriter(store, clock, place, unstored)
    let progress: SnapshotProgress = { rows: 0, bytes: 0, fraction: undefined }
    let toldAt = clock.now()
    const head = await runCall(clock, undefined, (call) =>
      cutSnapshot(
        { response, call, clock, idleMs, maxRowBytes },
        {
          read: (buffer, cut) => ({ bytes: buffer.takeBytes(), cut }),
          async slice({ bytes, cut }) {
            const key = await writer?.add(textOf(bytes))
            say({ kind: 'slice', bytes, cut, key }, bytes.buffer)
            untaken += 1
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
      ),
    )
    await writer?.end()
    say({ kind: 'end', head, progress })
  }

  const failed = (error: unknown) => say({ kind: 'failed', fault: faultOf(error) })
  let answer: Promise<Response> | undefined
  scope.onmessage = ({ data }) => {
    // The page has asked for this version of the messages.
    const message = data as ToWorker
    if (message.kind === 'fetch') {
      answer = ask(message.url, message.init)
      answer.catch(failed)
    } else if (message.kind === 'read') {
      answer?.then((response) => read(response, message)).catch(failed)
    } else {
      untaken -= 1
      onTaken()
    }
  }
  say({ kind: 'ready', version })
}
