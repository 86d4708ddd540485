import type { SyncError } from '../base/errors.ts'
import type { WritesStatus } from '../mutations/mutations.ts'
import type { SnapshotProgress } from '../network/transport.ts'
import type { StorageStatus } from '../persistence/storage-status.ts'
import { isObject, jsonEqual } from '../protocol/json.ts'

/** Where a client stands, as independent axes. Immutable: the same object until something changes. */
export interface Status {
  readonly lifecycle: 'idle' | 'running' | 'stopped' | 'closed'
  readonly data: DataStatus
  readonly connection: ConnectionStatus
  readonly writes: WritesStatus
  readonly storage: StorageStatus
  /** The position that is shown; what a restart begins from may be a little less. */
  readonly lastSyncId: number
}

export type DataStatus =
  /** There is nothing to show yet. */
  | { readonly state: 'none' }
  | { readonly state: 'loading'; readonly progress: SnapshotProgress }
  /**
   * There is data. `asOf`: when it was last known to be in step with the server, in ms since the epoch; of restored
   * data, when its last change was stored.
   */
  | { readonly state: 'stale' | 'current'; readonly asOf: number }

export type ConnectionStatus =
  /** `idle`: not running. `polling`: in step by fetching now and then. `socket`: in step by pushes. */
  | { readonly state: 'idle' | 'connecting' | 'polling' | 'socket' }
  /** The server cannot be reached. `retryAt`: when it is tried again, in ms since the epoch. */
  | { readonly state: 'offline'; readonly retryAt?: number }
  /** Paused until there are new credentials. */
  | { readonly state: 'unauthenticated'; readonly error: SyncError }
  /** The server answers, but not as it should; it is tried again. */
  | { readonly state: 'failed'; readonly error: SyncError }

export const initialStatus: Status = {
  lifecycle: 'idle',
  data: { state: 'none' },
  connection: { state: 'idle' },
  writes: { pending: 0, rejected: 0 },
  storage: { kind: 'memory' },
  lastSyncId: 0,
}

/** `status` with some axes replaced; the same object, and the same axes, where they say the same. */
export function reduceStatus(status: Status, patch: Partial<Status>): Status {
  let next = status
  for (const axis of Object.keys(patch) as (keyof Status)[]) {
    if (!saysTheSame(status[axis], patch[axis])) next = { ...next, [axis]: patch[axis] }
  }
  return next
}

/** Errors are told apart by reference: what they say is not all in their fields. */
function saysTheSame(a: unknown, b: unknown): boolean {
  return jsonEqual(a, b) && errorOf(a) === errorOf(b)
}

function errorOf(axis: unknown): unknown {
  return isObject(axis) ? axis.error : undefined
}
