import { toError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { SyncFrame } from '../protocol/frame.ts'
import type { OnCommitted } from './log/log.ts'

/** The changes of one write: a transaction of a client, or a `write` of the service. */
export interface Commit {
  /** The `sid` of the last change. */
  readonly sid: number
  /** The client's transaction that made the write; `undefined` if the service itself wrote. */
  readonly by: CommittedBy | undefined
  /** The changes in ascending `sid`, at least one, each with the owner who receives the frame. */
  readonly changes: readonly { readonly owner: string; readonly frame: SyncFrame }[]
}

export interface CommittedBy {
  /** The id of the transaction. */
  readonly tx: string
  /** The user id of the caller. */
  readonly userId: string
}

/**
 * Called after a commit. Nothing waits for the returned promise. If the hook throws or rejects, the error is logged.
 */
export type OnCommit = (commit: Commit) => unknown

/** A listener for a log that calls `onCommit`. */
export function commitListener(onCommit: OnCommit, logger: Logger, by?: CommittedBy): OnCommitted {
  return (logged) => {
    const changes = logged.map(({ owner, frame }) => ({ owner, frame: JSON.parse(frame) as SyncFrame }))
    const sid = logged.at(-1)?.sid ?? 0
    const call = async () => onCommit({ sid, by, changes })
    call().catch((error) => {
      logger.error('The hook `onCommit` failed.', { sid, reason: toError(error).message })
    })
  }
}
