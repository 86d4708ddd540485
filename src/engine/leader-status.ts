import { SyncError } from '../base/errors.ts'
import type { SharedError } from '../tabs/channel.ts'
import type { ConnectionStatus, DataStatus, Status } from './status.ts'

/** The part of the leader's status that holds for all tabs. */
export interface LeaderStatus {
  readonly connection: ConnectionStatus
  readonly data: DataStatus
  /** See `WritesStatus.paused`. */
  readonly paused?: string | undefined
}

/** The {@link LeaderStatus}, as a message to other tabs. */
export interface SharedStatus {
  readonly data: DataStatus
  readonly paused?: string | undefined
  readonly connection: Omit<ConnectionStatus, 'error'>
  readonly error?: SharedError | undefined
}

export function shareStatus({ connection, data, writes }: Status): SharedStatus {
  const { paused } = writes
  if (!('error' in connection)) return { connection, data, paused }
  const { state, error } = connection
  return { connection: { state }, error: shareError(error), data, paused }
}

export function statusFrom({ connection, error, data, paused }: SharedStatus): LeaderStatus {
  const { state } = connection
  if (state === 'unauthenticated' || state === 'failed') {
    const failure = errorFrom(error) ?? new SyncError('SyncError', 'unexpected', 'The leader has failed.')
    return { connection: { state, error: failure }, data, paused }
  }
  return { connection: { ...connection, state }, data, paused }
}

export function shareError({ name, code, message }: SyncError): SharedError {
  return { name, code, message }
}

export function errorFrom(shared: SharedError | undefined): SyncError | undefined {
  return shared && new SyncError(shared.name, shared.code, shared.message)
}
