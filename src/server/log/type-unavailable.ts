import { RuleFailure } from './rules.ts'

/** When a client is asked to send the transaction again, in seconds. */
const retryAfter = 5

/**
 * Nothing can be decided about a transaction, because its table is set aside. No verdict: the client sends the
 * transaction again, and its other transactions meanwhile.
 */
export class TypeUnavailable extends RuleFailure {
  readonly type: string
  /** Why a write has failed, as a sentence; `undefined` if the type was set aside before. */
  readonly reason: string | undefined
  readonly retryAfter = retryAfter

  constructor(type: string, reason?: string) {
    super(new Error(`Records of the type ${type} cannot be written at the moment.`))
    this.type = type
    this.reason = reason
  }
}
