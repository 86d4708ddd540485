import type { Draft } from './draft.ts'
import type { ClientTransaction, Verdict } from './log.ts'
import { dependencyRejected, idReused, toRejection } from './rejection.ts'

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
  /** Whether there is nothing to keep: it was decided before. */
  readonly again?: boolean
}

/**
 * Decides about `transaction` as {@link Log.transact} says. `keptFor` gives the caller's verdict on a transaction, and
 * `drafted` what the ops come to.
 */
export function decideOn(
  { id, digest, refused, requires }: ClientTransaction,
  keptFor: (id: string) => KeptVerdict | undefined,
  drafted: () => Draft,
): Decided {
  const first = keptFor(id)
  if (first)
    return { verdict: first.digest === digest ? first.verdict : { error: idReused(id) }, again: true }
  if (refused) return { verdict: { error: refused } }
  const missing = requires.find((required) => !isAccepted(keptFor(required)))
  if (missing !== undefined) return { verdict: { error: dependencyRejected(missing) } }
  return attempted(drafted)
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
