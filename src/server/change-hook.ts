import { toError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { SyncFrame } from '../protocol/frame.ts'
import type { OnCommitted } from './log/log.ts'

/** What one write has changed: a transaction of a client, or a `write` of the service. */
export interface Commit {
  /** The `sid` of its last change. */
  readonly sid: number
  /** Who made it; `undefined` is the service itself. */
  readonly by: CommittedBy | undefined
  /** At least one, by ascending `sid`: what each owner is told. */
  readonly changes: readonly { readonly owner: string; readonly frame: SyncFrame }[]
}

export interface CommittedBy {
  /** The id of the transaction. */
  readonly tx: string
  /** The caller's. */
  readonly userId: string
}

/** Is told of a commit. Nothing waits for what it gives; where it throws or rejects, that is logged. */
export type OnCommit = (commit: Commit) => unknown

/** Tells `onCommit` what the log tells. */
export function tellOf(onCommit: OnCommit, logger: Logger, by?: CommittedBy): OnCommitted {
  return (told) => {
    const changes = told.map(({ owner, frame }) => ({ owner, frame: JSON.parse(frame) as SyncFrame }))
    const sid = told.at(-1)?.sid ?? 0
    const call = async () => onCommit({ sid, by, changes })
    call().catch((error) => {
      logger.error('The hook `onCommit` failed.', { sid, reason: toError(error).message })
    })
  }
}
