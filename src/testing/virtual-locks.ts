import type { Locks } from '../base/environment.ts'

interface Request {
  readonly body: (lock: unknown) => Promise<void>
  readonly resolve: (result: unknown) => void
  readonly reject: (reason: unknown) => void
}

/** The locks of one origin on a device, as a browser has them (Web Locks API). */
export class VirtualLocks {
  readonly #held = new Map<string, Request>()
  readonly #queues = new Map<string, Request[]>()

  /** The locks for one page. `crash` releases all locks and ends all requests of the page. */
  page(): Locks & { readonly crash: () => void } {
    const own = new Set<Request>()
    return {
      request: (name, { ifAvailable = false, steal = false, signal }, body) =>
        new Promise((resolve, reject) => {
          const request: Request = { body, resolve, reject }
          own.add(request)
          signal?.addEventListener('abort', () => {
            if (this.#unqueue(name, request)) reject(signal.reason)
          })
          if (ifAvailable && this.#held.has(name)) void body(null).then(resolve, reject)
          else {
            const queue = this.#queueOf(name)
            if (steal) queue.unshift(request)
            else queue.push(request)
            const holder = this.#held.get(name)
            if (steal && holder) {
              this.#held.delete(name)
              holder.reject(new DOMException('The lock was stolen.', 'AbortError'))
            }
            this.#grant(name)
          }
        }),
      crash: () => {
        for (const name of this.#queues.keys()) {
          for (const request of own) {
            this.#unqueue(name, request)
            if (this.#held.get(name) === request) this.#held.delete(name)
          }
          this.#grant(name)
        }
      },
    }
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

  #grant(name: string): void {
    const next = this.#held.has(name) ? undefined : this.#queueOf(name).shift()
    if (!next) return
    this.#held.set(name, next)
    const release = () => {
      if (this.#held.get(name) !== next) return
      this.#held.delete(name)
      this.#grant(name)
    }
    void Promise.resolve()
      .then(() => next.body({ name }))
      .then(next.resolve, next.reject)
      .finally(release)
  }
}
