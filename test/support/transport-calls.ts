import type { Fetch } from '../../src/base/environment.ts'
import type { Credentials } from '../../src/network/credentials.ts'
import { createCredentials } from '../../src/network/credentials.ts'
import { createTransport } from '../../src/network/http.ts'
import type { SnapshotProgress, SnapshotSink, SnapshotSlice, Transport } from '../../src/network/transport.ts'
import { VirtualClock } from './virtual.ts'

export const endpoints = {
  bootstrapUrl: 'https://api.test/sync/v1/bootstrap',
  deltaUrl: 'https://api.test/sync/v1/delta',
  wsUrl: 'wss://api.test/sync/v1/ws',
  txUrl: 'https://api.test/sync/v1/tx',
}

export interface Setup extends ManualFetch {
  readonly transport: Transport
  readonly clock: VirtualClock
}

/** A transport over a fetch that answers as `answer` says, in virtual time. */
export function setup(
  answer: (call: FetchCall) => Response | Promise<Response>,
  options: { credentials?: Credentials; clock?: VirtualClock } = {},
): Setup {
  const fetching = manualFetch(answer)
  const credentials = options.credentials ?? createCredentials({ token: 's3cret' })
  const { clock = new VirtualClock() } = options
  const environment = { fetch: fetching.fetch, clock }
  return Object.assign(fetching, {
    clock,
    transport: createTransport({ environment, endpoints, credentials }),
  })
}

/** A sink that remembers what came. */
export class ListSink implements SnapshotSink {
  readonly slices: SnapshotSlice[] = []
  readonly progresses: SnapshotProgress[] = []

  async slice(slice: SnapshotSlice): Promise<void> {
    this.slices.push(slice)
  }

  progress(progress: SnapshotProgress): void {
    this.progresses.push(progress)
  }
}

/** How a promise ended: its value or its reason, and whether it has. */
export function outcomeOf<T>(promise: Promise<T>): { settled: boolean; value?: T; error?: unknown } {
  const outcome: { settled: boolean; value?: T; error?: unknown } = { settled: false }
  promise.then(
    (value) => Object.assign(outcome, { settled: true, value }),
    (error: unknown) => Object.assign(outcome, { settled: true, error }),
  )
  return outcome
}

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
