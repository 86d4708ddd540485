import { check } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import type { Caller, Refusal, RefusalCode } from '../server/auth/caller.ts'
import { bearerToken, socketRequest } from '../server/auth/credentials.ts'
import { isDuration, isName } from './checks.ts'

interface Token {
  readonly identity: string
  readonly caller: Caller
  refused?: RefusalCode
}

/** Credentials that were given out, and whose each is. Sent as a token or as an API key, they count alike. */
export class Tokens {
  readonly #clock: Pick<Clock, 'now'>
  readonly #callerOf: (identity: string) => Caller
  readonly #tokens = new Map<string, Token>()
  readonly #newest = new Map<string, string>()

  constructor(clock: Pick<Clock, 'now'>, callerOf: (identity: string) => Caller) {
    this.#clock = clock
    this.#callerOf = callerOf
  }

  issue(identity: string, lifetimeMs?: number): string {
    check('identity', identity, isName)
    if (lifetimeMs !== undefined) check('lifetimeMs', lifetimeMs, isDuration)
    const token = `token-${this.#tokens.size + 1}`
    const expiresAt = lifetimeMs === undefined ? undefined : this.#clock.now() + lifetimeMs
    this.#tokens.set(token, { identity, caller: { expiresAt, ...this.#callerOf(identity) } })
    this.#newest.set(identity, token)
    return token
  }

  /** The last that was issued to `identity`, whether it still holds or not. */
  newest(identity: string): string {
    return this.#newest.get(identity) ?? this.issue(identity)
  }

  /** Has those of `identity` refused from now on, the first also where nobody has asked for it yet. Gives whom they named. */
  end(identity: string, refused: RefusalCode): ReadonlySet<Caller> {
    this.newest(identity)
    const ended = [...this.#tokens.values()].filter((token) => token.identity === identity)
    for (const token of ended) token.refused ??= refused
    return new Set(ended.map(({ caller }) => caller))
  }

  async authenticate(request: Request): Promise<Caller | Refusal | null> {
    // Of a socket, the service has put the token of the query into a header; elsewhere the query counts for nothing.
    const token = this.#tokenOf(request)
    if (!token) return null
    const { refused, caller } = token
    // The service itself refuses who comes after `expiresAt`.
    return refused ? { refused } : caller
  }

  /** Who sent `request`, whether that token still holds or not. */
  identityOf(request: Request): string | undefined {
    return this.#tokenOf(socketRequest(request))?.identity
  }

  #tokenOf(request: Request): Token | undefined {
    const { headers } = request
    const text = bearerToken(request) ?? headers.get('X-API-Key')
    return text ? this.#tokens.get(text) : undefined
  }
}
