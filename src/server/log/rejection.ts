import { SyncError } from '../../base/errors.ts'
import type { RejectionCode } from '../../protocol/tx.ts'

/** A write was refused, and nothing of it has happened. `reason` is the protocol's code. */
export class WriteRejectedError extends SyncError<'RejectedError'> {
  readonly reason: RejectionCode

  constructor(reason: RejectionCode, message: string) {
    super('RejectedError', 'rejected', message)
    this.reason = reason
  }
}
