import { isSyncError, type SyncError } from '../base/errors.ts'
import type { SocketState } from '../network/realtime-socket.ts'
import type { ScheduleState } from '../network/schedule-state.ts'
import type { SnapshotProgress } from '../network/transport.ts'
import type { RealtimeState } from './realtime.ts'
import type { ConnectionStatus, DataStatus } from './status.ts'

/** The inputs from which the status of data and connection is derived. */
export interface Facts {
  readonly phase: ScheduleState['name']
  readonly socket: SocketState
  readonly realtime: RealtimeState
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
  readonly fetched: boolean
}

export function connectionStatus(facts: Facts): ConnectionStatus {
  const { phase, socket, realtime, online, failure, isRefreshing, retryAt, progress, fetched } = facts
  if (phase === 'halted' || phase === 'asked') return { state: 'idle' }
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
  if (realtime === 'live') return { state: 'socket' }
  return { state: fetched && realtime === 'closed' && !isOpening(socket) ? 'polling' : 'connecting' }
}

export function dataStatus(facts: Facts, connection: ConnectionStatus): DataStatus {
  const { hasData, progress, fetched, failure, inStepAt = 0 } = facts
  if (!hasData) return progress ? { state: 'loading', progress } : { state: 'none' }
  const isConnected = !failure && connection.state !== 'idle' && connection.state !== 'offline'
  return { state: fetched && isConnected ? 'current' : 'stale', asOf: inStepAt }
}

/** The status of a follower's data. `leaderData`: that of the leader's. `isLive`: whether no change was missed. */
export function followedStatus(facts: Facts, leaderData: DataStatus, isLive: boolean): DataStatus {
  if (!facts.hasData) return leaderData.state === 'loading' ? leaderData : { state: 'none' }
  if (!('asOf' in leaderData)) return { state: 'stale', asOf: facts.inStepAt ?? 0 }
  return isLive ? leaderData : { ...leaderData, state: 'stale' }
}

/** Whether a socket may soon be open. A first failure, such as a lost socket, does not mean that the next try fails. */
function isOpening(socket: SocketState): boolean {
  return socket.name === 'opening' || (socket.name === 'waiting' && socket.failures === 1)
}
