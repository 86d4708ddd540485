import { isSyncError, type SyncError } from '../base/errors.ts'
import type { SocketState } from '../network/realtime-socket.ts'
import type { ScheduleState } from '../network/schedule-state.ts'
import type { SnapshotProgress } from '../network/transport.ts'
import type { RealtimeState } from './realtime.ts'
import type { ConnectionStatus, DataStatus } from './status.ts'

/** What the status of data and connection follows from. */
export interface Facts {
  readonly phase: ScheduleState['name']
  readonly socket: SocketState
  readonly realtime: RealtimeState
  readonly online: boolean
  /** Why the last fetch failed, if it did. */
  readonly failure: SyncError | undefined
  readonly retryAt: number | undefined
  readonly hasData: boolean
  readonly progress: SnapshotProgress | undefined
  /** When the data was last known to be in step, in ms since the epoch. */
  readonly inStepAt: number | undefined
  /** Whether a fetch has succeeded since it began to run. */
  readonly fetched: boolean
}

export function connectionStatus(facts: Facts): ConnectionStatus {
  const { phase, socket, realtime, online, failure, retryAt, progress, fetched } = facts
  if (phase === 'halted' || phase === 'asked') return { state: 'idle' }
  const isRefused = isSyncError(failure, 'UnauthenticatedError')
  if (isRefused && phase !== 'fetching') return { state: 'unauthenticated', error: failure }
  if (!online) return { state: 'offline' }
  // Other credentials than those that were refused are on their way; or a snapshot comes, whatever failed before it.
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

/** Whether a socket may soon be open: a first failure, such as the loss of one that was, says nothing of the next try. */
function isOpening(socket: SocketState): boolean {
  return socket.name === 'opening' || (socket.name === 'waiting' && socket.failures === 1)
}
