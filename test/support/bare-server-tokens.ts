import type { BareRequest } from './bare-server-faults.ts'

export interface BareToken {
  readonly userId: string
  readonly expiresAt: number
}

/** Opaque tokens, each of one user. */
export class BareTokens {
  readonly #tokens = new Map<string, BareToken>()
  readonly #random: () => number
  readonly #now: () => number

  constructor(random: () => number, now: () => number) {
    this.#random = random
    this.#now = now
  }

  /** A new token of `userId`. */
  issue(userId: string, expiresAt = Number.POSITIVE_INFINITY): string {
    const token = `token-${this.#tokens.size}-${Math.floor(this.#random() * 2 ** 32).toString(36)}`
    this.#tokens.set(token, { userId, expiresAt })
    return token
  }

  expire(token: string): void {
    const known = this.#tokens.get(token)
    if (known) this.#tokens.set(token, { ...known, expiresAt: this.#now() })
  }

  revoke(token: string): void {
    this.#tokens.delete(token)
  }

  /** The token that `request` brings, in its header or, for a socket, in its query; or what is wrong with it. */
  of({ path, query, headers }: BareRequest): BareToken | string {
    const { authorization = '' } = headers
    const bearer = /^Bearer (.+)$/.exec(authorization)?.[1]
    const text = bearer ?? (path.endsWith('/ws') ? query.get('token') : null)
    if (!text) return 'No token provided'
    const token = this.#tokens.get(text)
    if (!token) return 'Invalid token'
    return token.expiresAt > this.#now() ? token : 'Token expired'
  }
}
