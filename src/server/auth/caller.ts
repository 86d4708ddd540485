import { isObject } from '../../protocol/json.ts'

/** Whoever made a request, once that is proven. */
export interface Caller {
  readonly userId: string
  readonly organizationId?: string | undefined
  /** When the proof ends, in ms since the epoch: from then on it is none, and a socket is closed. */
  readonly expiresAt?: number | undefined
  /** Which session or key proved it, so that this one alone can be revoked. It is no secret. */
  readonly credentialId?: string | undefined
}

/** The field of a record that names its owner, and the property of a caller that it is compared with. */
export type OwnerField = 'userId' | 'organizationId'

/** Why a request is no one's. */
export type RefusalCode = 'no_token' | 'token_expired' | 'invalid_token'

const codes: readonly RefusalCode[] = ['no_token', 'token_expired', 'invalid_token']

export interface Refusal {
  readonly refused: RefusalCode
}

/**
 * Finds out who makes a request. `null` refuses it, and so does a {@link Refusal}, which says why. A rejection means
 * that it cannot be told now, and is answered with 503: it signs nobody out.
 *
 * The request of a socket carries its token in the header too, whichever way it came.
 */
export type Authenticate = (request: Request) => Promise<Caller | Refusal | null>

export function refuse(refused: RefusalCode): Refusal {
  return { refused }
}

export function isCaller(result: Caller | Refusal | null): result is Caller {
  return isObject(result) && !('refused' in result)
}

/**
 * The answer of an {@link Authenticate}, which an application may have made of anything: a proof that has ended by `now`
 * is refused. Throws where it is none.
 */
export function checkedAnswer(result: unknown, now: number): Caller | Refusal | null {
  if (result === null || result === undefined) return null
  if (isObject(result) && 'refused' in result) {
    return refuse(codes.find((code) => code === result.refused) ?? 'invalid_token')
  }
  if (isWholeCaller(result)) return (result.expiresAt ?? now + 1) > now ? result : refuse('token_expired')
  throw new TypeError(
    '`authenticate` is to give { userId, organizationId?, expiresAt? } with texts and a number, a refusal, or null.',
  )
}

function isWholeCaller(result: unknown): result is Caller {
  if (!isObject(result)) return false
  const { userId, organizationId, expiresAt } = result
  const hasTexts = typeof userId === 'string' && typeof (organizationId ?? '') === 'string'
  return hasTexts && userId !== '' && typeof (expiresAt ?? 0) === 'number' && !Number.isNaN(expiresAt)
}

/** `caller`, whose proof ends at `expiresAt` at the latest; refused where that has gone by. */
export function endingAt(caller: Caller, expiresAt: number, now: number): Caller | Refusal {
  const end = Math.min(caller.expiresAt ?? expiresAt, expiresAt)
  return end > now ? { ...caller, expiresAt: end } : refuse('token_expired')
}
