import { check } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import type { Caller, Refusal, RefusalCode } from '../server/auth/caller.ts'
import { bearerToken, socketRequest } from '../server/auth/credentials.ts'
import { isDuration, isName } from './checks.ts'

interface Token {
  readonly identity: string
  readonly expiresAt: number | undefined
  refused?: RefusalCode
}

/** The issued credentials and their identities. Each is valid as a token and as an API key. */
export class Tokens {
  readonly #clock: Pick<Clock, 'now'>
  readonly #callerOf: (identity: string) => Caller
  readonly #tokens = new Map<string, Token>()
  readonly #newest = new Map<string, string>()
  readonly #tokenOfCaller = new WeakMap<Caller, Token>()

  constructor(clock: Pick<Clock, 'now'>, callerOf: (identity: string) => Caller) {
    this.#clock = clock
    this.#callerOf = callerOf
  }

  issue(identity: string, lifetimeMs?: number): string {
    check('identity', identity, isName)
    if (lifetimeMs !== undefined) check('lifetimeMs', lifetimeMs, isDuration)
    const token = `token-${this.#tokens.size + 1}`
    const expiresAt = lifetimeMs === undefined ? undefined : this.#clock.now() + lifetimeMs
    this.#tokens.set(token, { identity, expiresAt })
    this.#newest.set(identity, token)
    return token
  }

  /** The last token that was issued to `identity`, valid or not. Issues the first token if there is none. */
  newest(identity: string): string {
    return this.#newest.get(identity) ?? this.issue(identity)
  }

  /**
   * Refuses the tokens of `identity` from now on. Issues the first token before if there is none, so that a client does
   * not get a valid one.
   */
  end(identity: string, refused: RefusalCode): void {
    this.newest(identity)
    for (const token of this.#tokens.values()) if (token.identity === identity) token.refused ??= refused
  }

  /** Whether the token that authenticated `caller` is refused now. */
  hasEnded(caller: Caller): boolean {
    return this.#tokenOfCaller.get(caller)?.refused !== undefined
  }

  async authenticate(request: Request): Promise<Caller | Refusal | null> {
    // For a socket, the service has moved the token from the query to a header. For HTTP, a token in the query is
    // ignored.
    const token = this.#tokenOf(request)
    if (!token) return null
    const { refused, identity, expiresAt } = token
    if (refused) return { refused }
    // The service refuses a caller after `expiresAt`.
    const caller = { expiresAt, ...this.#callerOf(identity) }
    this.#tokenOfCaller.set(caller, token)
    return caller
  }

  /** The identity of the token in `request`, valid or not. */
  identityOf(request: Request): string | undefined {
    return this.#tokenOf(socketRequest(request))?.identity
  }

  #tokenOf(request: Request): Token | undefined {
    const { headers } = request
    const text = bearerToken(request) ?? headers.get('X-API-Key')
    return text ? this.#tokens.get(text) : undefined
  }
}
