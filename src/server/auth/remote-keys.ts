import type { JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../base/environment.ts'
import { sha256 } from '../sha256.ts'
import { ChecksPaused } from './checks-paused.ts'
import { loadJose } from './jose.ts'
import { callProvider, expectOk, type ProviderAddress } from './provider-call.ts'

/** The shortest time between two fetches that unknown keys or failures cause, in ms. */
const pauseMs = 5_000

/** The maximum number of unknown keys that are remembered. */
const maxUnknown = 1_000

export interface RemoteKeysOptions extends ProviderAddress {
  /** How long a fetched set is used, in ms. */
  readonly cacheMs: number
  readonly clock: Clock
}

/** A fetched set of keys. */
interface KeySet {
  readonly find: JWTVerifyGetKey
  /** When the fetch began, in ms since the epoch: a key that was withdrawn later may still be in the set. */
  readonly at: number
  /** The running number of the fetch. */
  readonly fetch: number
}

/**
 * The keys that a provider publishes. `createRemoteJWKSet` of `jose` refuses every unknown key after a fetch that any
 * token may have caused. Here an unknown key is refused only if the set was fetched after the key was first asked for;
 * until then, it cannot be checked.
 */
export class RemoteKeys {
  readonly #options: RemoteKeysOptions
  #set: KeySet | undefined
  #pending: Promise<KeySet> | undefined
  /** The number of fetches so far, and when the last one began. */
  #fetches = 0
  #lastAt = Number.NEGATIVE_INFINITY
  /** For each key that could not be checked: the number of fetches when it was first asked for. Oldest first. */
  readonly #unknown = new Map<string, number>()

  constructor(options: RemoteKeysOptions) {
    this.#options = options
  }

  /** Resolves with the key for a token. Rejects if there is none, or if the keys cannot be fetched. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const { errors } = await loadJose()
    const before = this.#fetches
    const set = await this.#fresh()
    const isMissing = (error: unknown) => error instanceof errors.JWKSNoMatchingKey
    try {
      return await set.find(header, token)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    const name = sha256(JSON.stringify([header.alg, header.kid]))
    // A fetch that is under way may have begun before the key was published.
    const newer = this.#pending ? await this.#pending : set
    try {
      return await newer.find(header, token)
    } catch (error) {
      const isAbsent = newer.fetch > (this.#unknown.get(name) ?? before)
      if (!isMissing(error) || isAbsent) throw error
    }
    if (!this.#isPaused) return (await this.#fetch()).find(header, token)
    this.#remember(name, before)
    return paused()
  }

  /** A set that is not too old. It is fetched ahead of time, so that a short failure of the provider is not noticed. */
  async #fresh(): Promise<KeySet> {
    const { clock, cacheMs } = this.#options
    const age = this.#set ? clock.now() - this.#set.at : Number.NaN
    // If the clock was set back, the set would be used for longer.
    if (!this.#set || !(age >= 0 && age < cacheMs)) {
      const hasFailed = this.#set?.fetch !== this.#fetches
      return hasFailed && this.#isPaused && !this.#pending ? paused() : this.#fetch()
    }
    if (age >= cacheMs / 2 && !this.#isPaused) this.#fetch().catch(() => {})
    return this.#set
  }

  get #isPaused(): boolean {
    const elapsed = this.#options.clock.now() - this.#lastAt
    return elapsed >= 0 && elapsed < pauseMs
  }

  #remember(name: string, before: number): void {
    if (!this.#unknown.has(name)) this.#unknown.set(name, before)
    for (const oldest of this.#unknown.keys()) {
      if (this.#unknown.size <= maxUnknown) return
      this.#unknown.delete(oldest)
    }
  }

  /** Concurrent calls share one fetch. */
  #fetch(): Promise<KeySet> {
    this.#pending ??= this.#load().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  async #load(): Promise<KeySet> {
    this.#fetches += 1
    this.#lastAt = this.#options.clock.now()
    const [fetch, at] = [this.#fetches, this.#lastAt]
    const headers = { Accept: 'application/json, application/jwk-set+json' }
    const body = expectOk(await callProvider(this.#options, { method: 'GET', headers }))
    const { createLocalJWKSet } = await loadJose()
    // It checks the body itself.
    this.#set = {
      find: createLocalJWKSet(body as unknown as Parameters<typeof createLocalJWKSet>[0]),
      at,
      fetch,
    }
    return this.#set
  }
}

function paused(): never {
  throw new ChecksPaused('The key set was fetched a moment ago, and is not fetched again yet.', pauseMs)
}
