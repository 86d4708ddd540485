import { isObject } from '../../protocol/json.ts'

/** The authenticated sender of a request. */
export interface Caller {
  readonly userId: string
  readonly organizationId?: string | undefined
  /** When the credentials expire, in ms since the epoch. Sockets are closed then. */
  readonly expiresAt?: number | undefined
  /** The id of the session or key that was used, so that it can be revoked on its own. It is not secret. */
  readonly credentialId?: string | undefined
}

/** The field of a record that names its owner, and the property of a caller that it is compared with. */
export type OwnerField = 'userId' | 'organizationId'

/** The reason why a request has no caller. */
export type RefusalCode = 'no_token' | 'token_expired' | 'invalid_token'

const codes: readonly RefusalCode[] = ['no_token', 'token_expired', 'invalid_token']

export interface Refusal {
  readonly refused: RefusalCode
}

/**
 * Identifies the caller of a request. `null` refuses the request; a {@link Refusal} also says why. If the function
 * rejects, the credentials cannot be checked now: the request is answered with 503, and nobody is signed out.
 *
 * The token of a socket request is always in the `Authorization` header, even if it was sent in the query.
 */
export type Authenticate = (request: Request) => Promise<Caller | Refusal | null>

export function refuse(refused: RefusalCode): Refusal {
  return { refused }
}

export function isCaller(result: Caller | Refusal | null): result is Caller {
  return isObject(result) && !('refused' in result)
}

/**
 * Checks the result of an application's {@link Authenticate}. A caller whose credentials have expired by `now`, in ms
 * since the epoch, is refused. Throws a TypeError for anything else that is not a valid result.
 */
export function checkedAnswer(result: unknown, now: number): Caller | Refusal | null {
  if (result === null || result === undefined) return null
  if (isObject(result) && 'refused' in result) {
    return refuse(codes.find((code) => code === result.refused) ?? 'invalid_token')
  }
  if (isWholeCaller(result)) return (result.expiresAt ?? now + 1) > now ? result : refuse('token_expired')
  throw new TypeError(
    '`authenticate` must return { userId, organizationId?, expiresAt? } with strings and a number, a refusal, or null.',
  )
}

function isWholeCaller(result: unknown): result is Caller {
  if (!isObject(result)) return false
  const { userId, organizationId, expiresAt } = result
  const hasTexts = typeof userId === 'string' && typeof (organizationId ?? '') === 'string'
  return hasTexts && userId !== '' && typeof (expiresAt ?? 0) === 'number' && !Number.isNaN(expiresAt)
}

/** `caller` with an expiry at `expiresAt` or earlier; a refusal if that time has passed. */
export function endingAt(caller: Caller, expiresAt: number, now: number): Caller | Refusal {
  const end = Math.min(caller.expiresAt ?? expiresAt, expiresAt)
  return end > now ? { ...caller, expiresAt: end } : refuse('token_expired')
}
