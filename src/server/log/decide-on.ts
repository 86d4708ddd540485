import type { Draft } from './draft.ts'
import type { ClientTransaction, Verdict } from './log.ts'
import { madeAt } from './made-at.ts'
import { dependencyRejected, expired, idReused, requiredExpired, toRejection } from './rejection.ts'

export interface KeptVerdict {
  readonly digest: string
  readonly verdict: Verdict
}

/** What comes of a write. */
export interface Decided {
  readonly verdict: Verdict
  /** What it changes, where it is accepted and was not before. */
  readonly draft?: Draft
  /** What its judge threw. */
  readonly thrown?: unknown
  /** Whether the verdict is not to be kept: there is one already, or it may have been forgotten. */
  readonly unkept?: boolean
}

/**
 * Decides about `transaction` as {@link Log.transact} says. `keptFor` gives the caller's verdict on a transaction, and
 * `drafted` what the ops come to. A verdict on an id that was made before `verdictHorizon`, in ms since the epoch, may have
 * been forgotten: where there is none, nobody knows.
 */
export function decideOn(
  { id, digest, refused, requires }: ClientTransaction,
  keptFor: (id: string) => KeptVerdict | undefined,
  drafted: () => Draft,
  verdictHorizon = 0,
): Decided {
  const isForgotten = (named: string) => (madeAt(named) ?? verdictHorizon) < verdictHorizon
  const first = keptFor(id)
  if (first)
    return { verdict: first.digest === digest ? first.verdict : { error: idReused(id) }, unkept: true }
  if (isForgotten(id)) return { verdict: { error: expired(id) }, unkept: true }
  if (refused) return { verdict: { error: refused } }
  const missing = requires.find((required) => !isAccepted(keptFor(required)))
  if (missing === undefined) return attempted(drafted)
  const isUnknown = !keptFor(missing) && isForgotten(missing)
  return { verdict: { error: isUnknown ? requiredExpired(missing) : dependencyRejected(missing) } }
}

/** Accepted, unless `drafted` throws a WriteRejectedError. */
export function attempted(drafted: () => Draft): Decided {
  try {
    const draft = drafted()
    return { verdict: { sid: draft.sid }, draft }
  } catch (error) {
    return { verdict: { error: toRejection(error) }, thrown: error }
  }
}

function isAccepted(kept: KeptVerdict | undefined): boolean {
  return kept !== undefined && 'sid' in kept.verdict
}
