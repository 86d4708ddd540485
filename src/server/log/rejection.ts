import { SyncError } from '../../base/errors.ts'
import type { JsonValue } from '../../protocol/json.ts'
import type { Rejection, RejectionCode } from '../../protocol/tx.ts'

/** A write was refused, and nothing of it has happened. `reason` is the protocol's code. */
export class WriteRejectedError extends SyncError<'RejectedError'> {
  readonly reason: RejectionCode
  /** What more there is to say for programs. */
  readonly details: JsonValue | undefined

  constructor(reason: RejectionCode, message: string, details?: JsonValue) {
    super('RejectedError', 'rejected', message)
    this.reason = reason
    this.details = details
  }
}

/** The rejection that `error` is. Throws it on where it is none. */
export function toRejection(error: unknown): Rejection {
  if (!(error instanceof WriteRejectedError)) throw error
  const { reason: code, message, details } = error
  return details === undefined ? { code, message } : { code, message, details }
}

export function idReused(id: string): Rejection {
  return { code: 'id_reused', message: `The id ${id} belongs to a transaction with another body.` }
}

export function expired(id: string): Rejection {
  return {
    code: 'expired',
    message: `The id ${id} is so old that nobody can tell whether its transaction happened; compare with the data, and send what is missing under a new id. If it is new, set the clock of the device that made it.`,
  }
}

export function requiredExpired(required: string): Rejection {
  return {
    code: 'expired',
    message: `The transaction ${required}, which it requires, is so old that nobody can tell whether it was accepted; compare with the data, and send what is missing without it.`,
  }
}

export function dependencyRejected(required: string): Rejection {
  return {
    code: 'dependency_rejected',
    message: `The transaction ${required}, which it requires, is not accepted.`,
  }
}
