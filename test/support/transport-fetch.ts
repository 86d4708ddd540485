import type { Fetch } from '../../src/base/environment.ts'

export interface FetchCall {
  readonly url: string
  readonly init: RequestInit
  readonly headers: Headers
}

export interface ManualFetch {
  readonly fetch: Fetch
  readonly calls: readonly FetchCall[]
  /** The newest call. */
  last(): FetchCall
}

/** A fetch that answers as `answer` says. An aborted signal ends it, as it does in a browser. */
export function manualFetch(answer: (call: FetchCall) => Response | Promise<Response>): ManualFetch {
  const calls: FetchCall[] = []
  return {
    calls,
    last() {
      const last = calls.at(-1)
      if (!last) throw new Error('Nothing was fetched.')
      return last
    },
    fetch: async (url, init) => {
      const call = { url, init, headers: new Headers(init.headers) }
      calls.push(call)
      return await new Promise<Response>((resolve, reject) => {
        init.signal?.addEventListener('abort', () => reject(init.signal?.reason))
        Promise.resolve(answer(call)).then(resolve, reject)
      })
    },
  }
}

export function json(value: unknown, init?: ResponseInit): Response {
  return new Response(JSON.stringify(value), { headers: { 'Content-Type': 'application/json' }, ...init })
}

/** A body that a test feeds by hand. */
export class ManualBody {
  readonly stream: ReadableStream<Uint8Array>
  cancelled = false
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  /** How many chunks were asked for. */
  pulls = 0

  constructor() {
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          this.pulls += 1
        },
        cancel: () => {
          this.cancelled = true
        },
      },
      { highWaterMark: 0 },
    )
  }

  sends(text: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(text))
  }

  ends(): void {
    this.#controller?.close()
  }

  fails(error: unknown): void {
    this.#controller?.error(error)
  }
}
