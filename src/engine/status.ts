import { ClosedError, type SyncError } from '../base/errors.ts'
import type { WritesStatus } from '../mutations/mutations.ts'
import type { SnapshotProgress } from '../network/transport.ts'
import type { StorageStatus } from '../persistence/storage-status.ts'
import { isObject, jsonEqual } from '../protocol/json.ts'

/** The status of a client, as independent axes. Immutable: the same object until something changes. */
export interface Status {
  /** `signed-out`: the user has signed out, here or in another tab. The client is closed, and shows nothing. */
  readonly lifecycle: 'idle' | 'running' | 'stopped' | 'closed' | 'signed-out'
  readonly data: DataStatus
  readonly connection: ConnectionStatus
  readonly writes: WritesStatus
  readonly storage: StorageStatus
  /**
   * The `leader` syncs for all clients of one database, such as the tabs of an application. A `follower` shows what the
   * leader has received, and stores its own transactions only.
   */
  readonly role: 'leader' | 'follower'
  /** The position that is shown. The stored position, from which a restart continues, may be a little lower. */
  readonly lastSyncId: number
}

export type DataStatus =
  /** There is nothing to show yet. */
  | { readonly state: 'none' }
  | { readonly state: 'loading'; readonly progress: SnapshotProgress }
  /**
   * There is data. `asOf`: when the data was last known to be in step with the server, in ms since the epoch; for
   * restored data, when the last change was stored.
   */
  | { readonly state: 'stale' | 'current'; readonly asOf: number }

export type ConnectionStatus =
  /** `idle`: not syncing. `polling`: in step by a fetch every `pollInterval`. `socket`: in step by pushes. */
  | { readonly state: 'idle' | 'connecting' | 'polling' | 'socket' }
  /** The server refused the credentials, and `onUnauthenticated` is running, in this tab or in another one. */
  | { readonly state: 'refreshing' }
  /** The server cannot be reached. `retryAt`: the time of the next try, in ms since the epoch. */
  | { readonly state: 'offline'; readonly retryAt?: number }
  /** The server refused the credentials. Syncing pauses until there are new ones. */
  | { readonly state: 'unauthenticated'; readonly error: SyncError }
  /** The server responds, but not as it should. The client tries again. */
  | { readonly state: 'failed'; readonly error: SyncError }

export const initialStatus: Status = {
  lifecycle: 'idle',
  data: { state: 'none' },
  connection: { state: 'idle' },
  writes: { pending: 0, rejected: 0 },
  storage: { kind: 'memory' },
  role: 'leader',
  lastSyncId: 0,
}

/** The error of calls on a client that has ended; `undefined` for any other client. */
export function endOf({ lifecycle }: Pick<Status, 'lifecycle'>): ClosedError | undefined {
  if (lifecycle === 'closed') return new ClosedError()
  if (lifecycle !== 'signed-out') return undefined
  const message = 'The user has signed out. Create a new SyncClient after the next sign-in.'
  return new ClosedError(message, { code: 'signed_out' })
}

/**
 * `status` with the axes of `patch`. Axes with equal values stay the same objects, and so does a status without change.
 */
export function reduceStatus(status: Status, patch: Partial<Status>): Status {
  let next = status
  for (const axis of Object.keys(patch) as (keyof Status)[]) {
    if (!isEqual(status[axis], patch[axis])) next = { ...next, [axis]: patch[axis] }
  }
  return next
}

/** Compares errors by reference: their fields do not hold all of their content. */
function isEqual(a: unknown, b: unknown): boolean {
  return jsonEqual(a, b) && errorOf(a) === errorOf(b)
}

function errorOf(axis: unknown): unknown {
  return isObject(axis) ? axis.error : undefined
}
