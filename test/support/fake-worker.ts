import type { World } from '../../src/base/world.ts'
import type { Store } from '../../src/storage/store.ts'
import { turn } from '../../src/testing/turns.ts'
import { serveSnapshots, type WorkerLike, type WorkerScope } from '../../src/worker/index.ts'

export interface FakeWorkerOptions {
  readonly world: Pick<World, 'fetch' | 'clock'>
  readonly store: Store
  /** Changes what the worker says, or keeps it back with `undefined`. */
  readonly edit?: (message: { readonly kind: string }) => object | undefined
}

/** A worker on the same thread. Messages are copied and arrive in order, each in a turn of its own. */
export class FakeWorker implements WorkerLike {
  onmessage: WorkerLike['onmessage'] = null
  onerror: WorkerLike['onerror'] = null
  onmessageerror: WorkerLike['onmessageerror'] = null
  terminated = false
  /** The kinds of what it said, each once. */
  readonly said = new Set<string>()
  readonly #ending = new AbortController()
  readonly #scope: WorkerScope
  #toWorker = Promise.resolve()
  #toPage = Promise.resolve()

  constructor({ world, store, edit = (message) => message }: FakeWorkerOptions) {
    this.#scope = {
      onmessage: null,
      postMessage: (message, transfer) => {
        const edited = edit(message as { kind: string })
        if (!edited) return
        this.said.add((message as { kind: string }).kind)
        const data: unknown = structuredClone(edited, { transfer })
        this.#toPage = this.#toPage.then(turn).then(() => {
          if (!this.terminated) this.onmessage?.(new MessageEvent('message', { data }))
        })
      },
    }
    const fetch: World['fetch'] = (url, init) =>
      world.fetch(url, { ...init, signal: AbortSignal.any([this.#ending.signal]) })
    // As a script does that has to be loaded first.
    this.#toWorker = turn().then(() =>
      serveSnapshots({ scope: this.#scope, world: { fetch, clock: world.clock }, store }),
    )
  }

  postMessage(message: unknown): void {
    const data: unknown = structuredClone(message)
    this.#toWorker = this.#toWorker.then(turn).then(() => {
      if (!this.terminated) this.#scope.onmessage?.(new MessageEvent('message', { data }))
    })
  }

  terminate(): void {
    this.terminated = true
    this.#ending.abort()
  }

  /** It ends by itself, of something that it did not expect. */
  crash(message = 'out of memory'): void {
    this.terminate()
    this.onerror?.(Object.assign(new Event('error'), { message }) as ErrorEvent)
  }
}
