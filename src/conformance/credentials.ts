import type { Random } from '../base/environment.ts'
import { randomName } from '../base/ids.ts'

/** Whose credentials a request has. `wrong`: a token that nobody issued. `tampered`: the first one with another end. */
export type As = 'token' | 'other-token' | 'expired-token' | 'wrong' | 'tampered' | 'none'

/** The header of HTTP requests that carries the credentials. A deployment selects one. */
export type Scheme = 'bearer' | 'api-key'

export interface Tokens {
  readonly token?: string | undefined
  readonly 'other-token'?: string | undefined
  readonly 'expired-token'?: string | undefined
}

/** The credentials of a run. They go into requests, and never into a report. */
export class Credentials {
  readonly #tokens: ReadonlyMap<As, string>
  readonly #secrets: readonly (readonly [text: string, name: string])[]
  scheme: Scheme = 'bearer'

  constructor(tokens: Tokens, random: Random) {
    const { token } = tokens
    const all: readonly (readonly [As, string | undefined])[] = [
      ['token', token],
      ['other-token', tokens['other-token']],
      ['expired-token', tokens['expired-token']],
      ['wrong', `wrong-${randomName(random)}`],
      ['tampered', token && tamper(token)],
    ]
    this.#tokens = new Map(all.flatMap(([as, text]) => (text ? [[as, text] as const] : [])))
    // The longest first: one may contain another.
    this.#secrets = [...this.#tokens]
      .flatMap(([as, text]) => [text, encodeURIComponent(text)].map((form) => [form, `<${as}>`] as const))
      .sort(([a], [b]) => b.length - a.length)
  }

  has(as: As): boolean {
    return as === 'none' || this.#tokens.has(as)
  }

  /** The text of a token; empty for `none`. */
  textOf(as: As): string {
    return this.#tokens.get(as) ?? ''
  }

  headersOf(as: As): Readonly<Record<string, string>> {
    const text = this.#tokens.get(as)
    if (text === undefined) return {}
    return this.scheme === 'bearer' ? { authorization: `Bearer ${text}` } : { 'x-api-key': text }
  }

  /** `text` without any token of the run. */
  redact(text: string): string {
    return this.#secrets.reduce((left, [secret, name]) => left.replaceAll(secret, name), text)
  }

  /** Whether `text` contains one of the tokens. */
  isIn(text: string): boolean {
    return this.#secrets.some(([secret]) => text.includes(secret))
  }
}

/** Changes a character in the last part, so that a signature is no longer right. */
function tamper(token: string): string {
  const at = token.length - Math.min(6, Math.ceil(token.length / 2))
  const other = token[at] === 'A' ? 'B' : 'A'
  return `${token.slice(0, at)}${other}${token.slice(at + 1)}`
}
