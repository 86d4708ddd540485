import { isSyncError, type SyncError } from '../base/errors.ts'
import type { SocketState } from '../network/realtime-socket.ts'
import type { ScheduleState } from '../network/schedule-state.ts'
import type { SnapshotProgress } from '../network/transport.ts'
import type { FeedState } from './feed.ts'
import type { ConnectionStatus, DataStatus } from './status.ts'

/** The inputs from which the status of data and connection is derived. */
export interface Facts {
  readonly phase: ScheduleState['name']
  readonly socket: SocketState
  readonly feed: FeedState
  readonly online: boolean
  /** The error of the last fetch; `undefined` after a success. */
  readonly failure: SyncError | undefined
  /** Whether `onUnauthenticated` is running. */
  readonly isRefreshing: boolean
  readonly retryAt: number | undefined
  readonly hasData: boolean
  readonly progress: SnapshotProgress | undefined
  /** When the data was last known to be in step with the server, in ms since the epoch. */
  readonly inStepAt: number | undefined
  /** Whether a fetch has succeeded since the client was started. */
  readonly hasFetched: boolean
}

/** The status of the connection while syncing is not stopped. */
export function connectionStatus(facts: Facts): ConnectionStatus {
  const { phase, socket, feed, online, failure, isRefreshing, retryAt, progress, hasFetched } = facts
  const isRefused = isSyncError(failure, 'UnauthenticatedError')
  if (isRefused && phase !== 'fetching') {
    return isRefreshing ? { state: 'refreshing' } : { state: 'unauthenticated', error: failure }
  }
  if (!online) return { state: 'offline' }
  // The client is trying new credentials after a refusal, or is receiving a snapshot after an earlier failure.
  if (isRefused || progress) return { state: 'connecting' }
  if (failure) {
    if (!isSyncError(failure, 'NetworkError')) return { state: 'failed', error: failure }
    return retryAt === undefined ? { state: 'offline' } : { state: 'offline', retryAt }
  }
  if (feed === 'live') return { state: 'socket' }
  return { state: hasFetched && feed !== 'behind' && !isOpening(socket) ? 'polling' : 'connecting' }
}

export function dataStatus(facts: Facts, connection: ConnectionStatus): DataStatus {
  const { hasData, progress, hasFetched, failure, inStepAt = 0 } = facts
  if (!hasData) return progress ? { state: 'loading', progress } : { state: 'none' }
  const isConnected = !failure && connection.state !== 'idle' && connection.state !== 'offline'
  return { state: hasFetched && isConnected ? 'current' : 'stale', asOf: inStepAt }
}

/** The status of a follower's data. `leaderData`: the status of the leader's data. */
export function followedStatus({ hasData, feed, inStepAt = 0 }: Facts, leaderData: DataStatus): DataStatus {
  if (!hasData) return leaderData.state === 'loading' ? leaderData : { state: 'none' }
  if (!('asOf' in leaderData)) return { state: 'stale', asOf: inStepAt }
  // A feed that is not live may have missed a change.
  return feed === 'live' ? leaderData : { ...leaderData, state: 'stale' }
}

/** Whether the socket may soon be open. After one failure, such as a lost socket, the next try may succeed. */
function isOpening(socket: SocketState): boolean {
  return socket.name === 'opening' || (socket.name === 'waiting' && socket.failures === 1)
}
