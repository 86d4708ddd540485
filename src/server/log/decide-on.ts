import type { Rejection } from '../../protocol/tx.ts'
import { creationTimeOf } from './creation-time.ts'
import type { Draft } from './draft.ts'
import type { ClientTransaction, Verdict } from './log.ts'
import { dependencyRejected, expired, requiredExpired, toRejection } from './rejection.ts'

export interface StoredVerdict {
  readonly digest: string
  readonly verdict: Verdict
}

/** The outcome of a transaction. */
export interface Decision {
  readonly verdict: Verdict
  /** The changes to apply, if the transaction is accepted now. */
  readonly draft?: Draft
  /** The error that the judge threw. */
  readonly thrown?: unknown
  /** Whether the verdict must not be stored: one is stored already, or it may have been forgotten. */
  readonly isNotStored?: boolean
}

/**
 * Decides about a transaction as {@link Log.transact} says. `storedFor` returns the stored verdict on one of the
 * caller's transactions. `drafted` applies the ops to a draft. Verdicts on ids made before `verdictHorizon`, in ms
 * since the epoch, may have been forgotten: if such an id has no verdict, its outcome is unknown.
 */
export async function decideOn(
  { id, digest, refused, requires }: ClientTransaction,
  storedFor: (id: string) => StoredVerdict | undefined,
  drafted: () => Promise<Draft>,
  verdictHorizon = 0,
): Promise<Decision> {
  const isForgotten = (named: string) => (creationTimeOf(named) ?? verdictHorizon) < verdictHorizon
  const first = storedFor(id)
  if (first) {
    const { verdict } = first
    return {
      verdict: first.digest === digest ? verdict : { error: idReused(id, verdict) },
      isNotStored: true,
    }
  }
  if (isForgotten(id)) return { verdict: { error: expired(id) }, isNotStored: true }
  if (refused) return { verdict: { error: refused } }
  const missing = requires.find((required) => !isAccepted(storedFor(required)))
  if (missing === undefined) return tryDraft(drafted)
  const isUnknown = !storedFor(missing) && isForgotten(missing)
  return { verdict: { error: isUnknown ? requiredExpired(missing) : dependencyRejected(missing) } }
}

/** Accepted, unless `drafted` throws a WriteRejectedError. Throws all other errors. */
export async function tryDraft(drafted: () => Promise<Draft>): Promise<Decision> {
  try {
    const draft = await drafted()
    return { verdict: { sid: draft.sid }, draft }
  } catch (error) {
    return { verdict: { error: toRejection(error) }, thrown: error }
  }
}

function isAccepted(kept: StoredVerdict | undefined): boolean {
  return kept !== undefined && 'sid' in kept.verdict
}

/** The rejection of an id that was already used for another body. `first`: the verdict on the first body. */
function idReused(id: string, first: Verdict): Rejection {
  const message = `The id ${id} was already used for a transaction with another body.`
  return { code: 'id_reused', message, details: first }
}
