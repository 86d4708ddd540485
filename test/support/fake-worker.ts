import type { World } from '../../src/base/world.ts'
import type { Store } from '../../src/storage/store.ts'
import { turn } from '../../src/testing/turns.ts'
import { serveSnapshots, type WorkerLike, type WorkerScope } from '../../src/worker/index.ts'
import { watching } from './watching-store.ts'

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
  #crashed = false
  readonly #ending = new AbortController()
  readonly #scope: WorkerScope
  #toWorker = Promise.resolve()
  #toPage = Promise.resolve()

  constructor({ world, store, edit = (message) => message }: FakeWorkerOptions) {
    this.#scope = {
      onmessage: null,
      postMessage: (message) => {
        const edited = this.#crashed ? undefined : edit(message as { kind: string })
        if (!edited) return
        this.said.add((message as { kind: string }).kind)
        const data: unknown = structuredClone(edited)
        this.#toPage = this.#toPage.then(turn).then(() => {
          if (!this.terminated) this.onmessage?.(new MessageEvent('message', { data }))
        })
      },
    }
    const fetch: World['fetch'] = (url, init) =>
      world.fetch(url, { ...init, signal: AbortSignal.any([this.#ending.signal]) })
    // As a script does that has to be loaded first.
    this.#toWorker = turn().then(() =>
      serveSnapshots({
        scope: this.#scope,
        world: { fetch, clock: world.clock },
        // What it does once it has ended, it does not do.
        store: watching(store, () => (this.#ending.signal.aborted ? new Promise<void>(() => {}) : undefined)),
      }),
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

  /** It says something that cannot be read. */
  mumble(): void {
    this.#toPage = this.#toPage.then(turn).then(() => {
      this.onmessageerror?.(new MessageEvent('messageerror'))
    })
  }

  /** It ends by itself, of something that it did not expect. What it has said by then is heard. */
  crash(message = 'out of memory'): void {
    this.#crashed = true
    this.#ending.abort()
    this.#toPage = this.#toPage.then(turn).then(() => {
      if (!this.terminated) this.onerror?.(Object.assign(new Event('error'), { message }) as ErrorEvent)
    })
  }
}
