import type { Clock } from '../../base/environment.ts'
import { sha256 } from '../sha256.ts'
import { ChecksPaused } from './checks-paused.ts'
import type { OAuthProfile, ProfileOf } from './oauth-provider.ts'
import { RefusalBudget } from './refusal-budget.ts'
import { withTimeLimit } from './time-limit.ts'

/** How long a refusal is cached, in ms. */
const refusedMs = 10_000

/** The maximum number of tokens that are remembered, accepted or refused. */
const maxTokens = 10_000

/**
 * Protects a provider from strangers, who can send any number of invalid tokens. Refusals are cached, and calls for
 * unknown tokens are limited. Tokens that the provider has accepted before are not limited. A token that was not checked
 * and comes again has a budget of its own: clients try again, and strangers who send ever new tokens do not keep them
 * out. Tokens are stored only as hashes.
 */
export function limitUnknownTokens(profileOf: ProfileOf, clock: Clock): ProfileOf {
  const [first, again] = [new RefusalBudget(clock), new RefusalBudget(clock)]
  const accepted = new Set<string>()
  const unchecked = new Set<string>()
  /** When each refusal was received, in ms since the epoch. */
  const refused = new Map<string, number>()
  const pendingByToken = new Map<string, Promise<OAuthProfile | null>>()

  const ask = async (key: string, token: string): Promise<OAuthProfile | null> => {
    // Limited in time: a call that never ends would count as running forever.
    const call = () => withTimeLimit(profileOf(token), clock)
    const budget = unchecked.has(key) ? again : first
    const limited = () => budget.run(call, (result) => result === null)
    const profile = await (accepted.has(key) ? call() : limited()).catch((error) => {
      if (error instanceof ChecksPaused) keepNewest(unchecked.add(key))
      throw error
    })
    unchecked.delete(key)
    accepted.delete(key)
    refused.delete(key)
    if (profile) keepNewest(accepted.add(key))
    else keepNewest(refused.set(key, clock.now()))
    return profile
  }

  return async (token) => {
    const key = sha256(token)
    const age = clock.now() - (refused.get(key) ?? Number.NEGATIVE_INFINITY)
    if (age >= 0 && age < refusedMs) return null
    const pending = pendingByToken.get(key) ?? ask(key, token).finally(() => pendingByToken.delete(key))
    pendingByToken.set(key, pending)
    return pending
  }
}

function keepNewest(tokens: {
  readonly size: number
  keys(): Iterable<string>
  delete(key: string): boolean
}) {
  for (const oldest of tokens.keys()) {
    if (tokens.size <= maxTokens) return
    tokens.delete(oldest)
  }
}
