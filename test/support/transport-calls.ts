import type { Credentials } from '../../src/network/credentials.ts'
import { createCredentials } from '../../src/network/credentials.ts'
import { createTransport } from '../../src/network/http.ts'
import type { SnapshotProgress, SnapshotSink, SnapshotSlice, Transport } from '../../src/network/transport.ts'
import { type FetchCall, type ManualFetch, manualFetch } from './transport-fetch.ts'
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
