import { isObject } from '../../protocol/json.ts'
import { areOwners, ownersExpected } from './owners.ts'

/** The authenticated sender of a request. */
export interface Caller {
  readonly userId: string
  readonly organizationId?: string | undefined
  /**
   * The owners whose records the caller sees and may change, each a text of 1 to 255 characters. The first one owns the
   * records that the caller inserts without naming an owner. With an empty list, the caller sees nothing. @default the
   * `userId` or `organizationId`, if that is the service's `ownerField`; for any other field, the caller is refused
   */
  readonly owners?: readonly string[] | undefined
  /** When the credentials expire, in ms since the epoch. Sockets are closed then. */
  readonly expiresAt?: number | undefined
  /** The id of the session or key that was used, so that it can be revoked on its own. It is not secret. */
  readonly credentialId?: string | undefined
}

/** The reason why a request has no caller. */
export type RefusalCode = 'no_token' | 'token_expired' | 'invalid_token'

const codes: readonly RefusalCode[] = ['no_token', 'token_expired', 'invalid_token']

export interface Refusal {
  readonly refused: RefusalCode
  /**
   * The message of the response: one sentence that names the fault of the credentials. @default a sentence for the code
   */
  readonly message?: string | undefined
}

/**
 * Identifies the caller of a request. `null` refuses the request; a {@link Refusal} also says why. If the function
 * rejects, takes longer than 30 s or resolves with anything else, the credentials cannot be checked now: the request is
 * answered with 503, nobody is signed out, and the log says why.
 *
 * The token of a socket request is always in the `Authorization` header, even if it was sent in the query.
 */
export type Authenticate = (request: Request) => Promise<Caller | Refusal | null>

export function refuse(refused: RefusalCode, message?: string): Refusal {
  return message === undefined ? { refused } : { refused, message }
}

export function isCaller(result: Caller | Refusal | null): result is Caller {
  return isObject(result) && !('refused' in result)
}

/**
 * Checks the result of an application's {@link Authenticate}. A caller whose credentials have expired by `now`, in ms
 * since the epoch, is refused. Throws a TypeError for anything else that is not a valid result.
 */
export function readAuthenticateResult(result: unknown, now: number): Caller | Refusal | null {
  if (result === null || result === undefined) return null
  if (isObject(result) && 'refused' in result) {
    const { message } = result
    const code = codes.find((known) => known === result.refused) ?? 'invalid_token'
    return refuse(code, typeof message === 'string' ? message : undefined)
  }
  if (!isWholeCaller(result)) {
    throw new TypeError(
      '`authenticate` must return { userId, organizationId?, expiresAt? } with strings and a number, a refusal, or null.',
    )
  }
  if (!areOwners(result.owners ?? [])) {
    throw new TypeError(`The \`owners\` of a caller must be ${ownersExpected}.`)
  }
  return (result.expiresAt ?? now + 1) > now ? result : refuse('token_expired')
}

function isWholeCaller(result: unknown): result is Caller {
  if (!isObject(result)) return false
  const { userId, organizationId, expiresAt } = result
  const hasTexts = typeof userId === 'string' && typeof (organizationId ?? '') === 'string'
  return hasTexts && userId !== '' && typeof (expiresAt ?? 0) === 'number' && !Number.isNaN(expiresAt)
}

/** `caller` with an expiry at `expiresAt` or earlier; a refusal if that time has passed. */
export function withExpiry(caller: Caller, expiresAt: number, now: number): Caller | Refusal {
  const end = Math.min(caller.expiresAt ?? expiresAt, expiresAt)
  return end > now ? { ...caller, expiresAt: end } : refuse('token_expired')
}

/**
 * The owners whose records `caller` sees, each once; the first one owns what the caller inserts. `undefined` if the
 * caller does not say.
 */
export function ownersOf(caller: Caller, ownerField: string): readonly string[] | undefined {
  if (caller.owners) return [...new Set(caller.owners)]
  const owner = ownerField === 'userId' || ownerField === 'organizationId' ? caller[ownerField] : undefined
  return owner ? [owner] : undefined
}
