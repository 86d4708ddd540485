import type { Unsubscribe } from '../base/emitter.ts'
import type { SnapshotProgress } from '../network/transport.ts'
import type { Status } from './status.ts'

/** The state of the engine itself. Each part has its own state. */
export interface EngineState {
  lifecycle: Status['lifecycle']
  /**
   * Whether the server is reachable: `true` after a response, `false` after a failure without a response or an
   * `offline` event. `undefined` until the first of these since `start`, or since the page was resumed.
   */
  isReached?: boolean | undefined
  /** Whether the socket has brought a message since the last `offline` event. */
  hasHeard: boolean
  /** Whether a fetch has succeeded since `start`. */
  hasFetched: boolean
  /** Whether the server has refused the credentials, and has not accepted any since. */
  isRefused: boolean
  /** When the data was last known to be in step with the server, in ms since the epoch. */
  inStepAt?: number | undefined
  /** The progress of the snapshot that is being fetched. */
  progress?: SnapshotProgress | undefined
  /** Resolves once the engine has ended; `undefined` until `close` or a sign-out. */
  ending?: Promise<void>
  /** Ends the subscription to the page's lifecycle. */
  unsubscribe: Unsubscribe
}

export function initialState(): EngineState {
  return {
    lifecycle: 'idle',
    hasHeard: false,
    hasFetched: false,
    isRefused: false,
    unsubscribe: () => {},
  }
}
