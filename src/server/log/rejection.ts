import { SyncError } from '../../base/errors.ts'
import type { JsonValue } from '../../protocol/json.ts'
import type { Rejection, RejectionCode } from '../../protocol/tx.ts'

/** A write was rejected, and none of it has happened. `reason` is the protocol's rejection code. */
export class WriteRejectedError extends SyncError<'RejectedError'> {
  readonly reason: RejectionCode
  /** Details for programs, in JSON. */
  readonly details: JsonValue | undefined

  constructor(reason: RejectionCode, message: string, details?: JsonValue) {
    super('RejectedError', 'rejected', message)
    this.reason = reason
    this.details = details
  }
}

/** Converts a WriteRejectedError to a rejection. Throws any other error again. */
export function toRejection(error: unknown): Rejection {
  if (!(error instanceof WriteRejectedError)) throw error
  const { reason: code, message, details } = error
  return details === undefined ? { code, message } : { code, message, details }
}

export function expired(id: string): Rejection {
  return {
    code: 'expired',
    message: `The id ${id} is too old: the service no longer knows whether its transaction was applied. Compare with the data, and send missing changes under a new id. If the id is new, correct the clock of the device that made it.`,
  }
}

export function requiredExpired(required: string): Rejection {
  return {
    code: 'expired',
    message: `The required transaction ${required} is too old: the service no longer knows whether it was accepted. Compare with the data, and send missing changes without requiring it.`,
  }
}

export function dependencyRejected(required: string): Rejection {
  return {
    code: 'dependency_rejected',
    message: `The required transaction ${required} was not accepted.`,
  }
}
