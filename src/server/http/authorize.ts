import { isObject, type JsonValue } from '../../protocol/json.ts'
import { copyPayload } from '../../protocol/json-copy.ts'
import { type RejectionCode, rejectionCodes, type WireTransaction } from '../../protocol/tx.ts'
import type { Caller } from '../auth/caller.ts'
import { WriteRejectedError } from '../log/rejection.ts'
import { RuleFailure } from '../log/rules.ts'
import type { RecordReader } from '../record.ts'

/** The results of {@link Authorize} other than `undefined`. */
export type Authorization =
  | {
      /** @default 'forbidden' */
      readonly code?: RejectionCode
      /** The reason for the refusal, as one sentence for people. */
      readonly message: string
      readonly details?: JsonValue
    }
  /** Allows the transaction to insert records for other owners, and to move the caller's records to other owners. */
  | { readonly mayChangeOwner: true }

export interface AuthorizeContext {
  /**
   * Reads any record, as the transactions that are decided before this one have left it. It cannot change until this one
   * is decided. A record that an op `restores` is read as it was before its removal.
   *
   * From the first call on, the function holds up all other writes: do everything slow before. It is stopped after 1 s, or
   * half of `maxWaitMs` if that is shorter, and the request is answered with 503. Await each call, and do not use
   * `service.read` or `service.write` meanwhile: they may wait for what the function holds.
   */
  readonly read: RecordReader
}

/**
 * Decides whether `caller` may make `transaction`, by the application's own rules. Runs before the rules of ownership.
 * `undefined` allows the transaction; a WriteRejectedError rejects it. The function may be called again for the same
 * transaction, and the result is ignored if the transaction has its verdict already. If the function throws another
 * error, or returns anything else, the request is answered with 503 and the client sends it again.
 *
 * An update may also remove fields: those in `unset`. Of an op with `was`, as an undo sends it, the function sees what is
 * left; if nothing is left, it does not run. That is known only while other writes are held up, so the whole function
 * runs then.
 */
export type Authorize = (
  transaction: WireTransaction,
  caller: Caller,
  context: AuthorizeContext,
) => Authorization | undefined | Promise<Authorization | undefined>

/** An {@link Authorization}, checked. */
export interface Permission {
  readonly refused: WriteRejectedError | undefined
  readonly mayChangeOwner: boolean
}

/**
 * Runs a function of the application and returns its decision. A WriteRejectedError that the function throws is a
 * refusal; for any other error, and for an invalid result, throws a RuleFailure.
 */
export async function askPermission(run: () => unknown): Promise<Permission> {
  try {
    return readPermission(await run())
  } catch (error) {
    const failure = failureOf(error)
    if (failure instanceof RuleFailure) throw failure
    return { refused: failure, mayChangeOwner: false }
  }
}

const codes = rejectionCodes.join(', ')

/** The error of an application's function: a WriteRejectedError that can be stored as a verdict, or a failure. */
export function failureOf(error: unknown): WriteRejectedError | RuleFailure {
  if (!(error instanceof WriteRejectedError)) return new RuleFailure(error)
  const advice = `A WriteRejectedError needs a message, details that are JSON, and one of these codes: ${codes}.`
  return refusalOf(error.reason, error.message, error.details) ?? new RuleFailure(new TypeError(advice))
}

function refusalOf(code: unknown, message: unknown, details: unknown): WriteRejectedError | undefined {
  const known = rejectionCodes.find((known) => known === code)
  if (known === undefined || typeof message !== 'string' || message === '') return undefined
  const copied = copyPayload({ message, details })
  return 'payload' in copied ? new WriteRejectedError(known, message, copied.payload.details) : undefined
}

/**
 * Checks the result of an application's function. Throws a TypeError for anything that is not an {@link Authorization}.
 */
function readPermission(answer: unknown): Permission {
  if (answer === undefined) return { refused: undefined, mayChangeOwner: false }
  const fields: Readonly<Record<string, unknown>> = isObject(answer) ? answer : {}
  const { code = 'forbidden', message, details, mayChangeOwner } = fields
  if (mayChangeOwner === true && message === undefined) return { refused: undefined, mayChangeOwner }
  const refused = mayChangeOwner === undefined ? refusalOf(code, message, details) : undefined
  if (refused) return { refused, mayChangeOwner: false }
  throw new TypeError(
    `\`authorize\` must return undefined to accept, { mayChangeOwner: true }, or { message, code?, details? } to reject; \`code\` is one of ${codes}.`,
  )
}
