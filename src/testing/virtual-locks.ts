import type { Locks } from '../base/environment.ts'

interface Request {
  readonly isShared: boolean
  readonly body: (lock: unknown) => Promise<void>
  readonly resolve: (result: unknown) => void
  readonly reject: (reason: unknown) => void
  /** Whether its page is frozen. A frozen page keeps its locks. */
  isFrozen: boolean
}

/** The locks of one origin on a device, as a browser has them (Web Locks API). */
export class VirtualLocks {
  readonly #held = new Map<string, Set<Request>>()
  readonly #queues = new Map<string, Request[]>()

  /**
   * The locks for one page. `freeze`: the page keeps its locks and takes no others. `crash`: the page is gone,
   * and with it all its locks and requests.
   */
  page(): Locks & { readonly freeze: () => void; readonly crash: () => void } {
    const own = new Set<Request>()
    return {
      request: (name, { mode, ifAvailable = false, steal = false, signal }, body) =>
        new Promise((resolve, reject) => {
          const request: Request = { isShared: mode === 'shared', body, resolve, reject, isFrozen: false }
          own.add(request)
          signal?.addEventListener('abort', () => {
            if (this.#unqueue(name, request)) reject(signal.reason)
          })
          if (ifAvailable && !this.#isFree(name, request)) void body(null).then(resolve, reject)
          else {
            const queue = this.#queueOf(name)
            if (steal) queue.unshift(request)
            else queue.push(request)
            for (const holder of steal ? this.#heldOf(name) : []) {
              this.#heldOf(name).delete(holder)
              holder.reject(new DOMException('The lock was stolen.', 'AbortError'))
            }
            this.#grant(name)
          }
        }),
      freeze: () => {
        for (const request of own) request.isFrozen = true
        for (const name of this.#queues.keys()) for (const request of own) this.#unqueue(name, request)
      },
      crash: () => {
        for (const name of this.#queues.keys()) {
          for (const request of own) {
            this.#unqueue(name, request)
            this.#heldOf(name).delete(request)
          }
          this.#grant(name)
        }
      },
    }
  }

  #heldOf(name: string): Set<Request> {
    const held = this.#held.get(name) ?? new Set()
    this.#held.set(name, held)
    return held
  }

  #queueOf(name: string): Request[] {
    const queue = this.#queues.get(name) ?? []
    this.#queues.set(name, queue)
    return queue
  }

  #unqueue(name: string, request: Request): boolean {
    const queue = this.#queueOf(name)
    const index = queue.indexOf(request)
    if (index >= 0) queue.splice(index, 1)
    return index >= 0
  }

  #isFree(name: string, { isShared }: Request): boolean {
    return [...this.#heldOf(name)].every((holder) => isShared && holder.isShared)
  }

  #grant(name: string): void {
    const [next] = this.#queueOf(name)
    if (!next || !this.#isFree(name, next)) return
    this.#unqueue(name, next)
    this.#heldOf(name).add(next)
    const release = () => {
      if (!next.isFrozen && this.#heldOf(name).delete(next)) this.#grant(name)
    }
    void Promise.resolve()
      .then(() => next.body({ name }))
      .then(next.resolve, next.reject)
      .finally(release)
    this.#grant(name)
  }
}
