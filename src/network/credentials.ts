import { isSyncError, NetworkError, UnauthenticatedError, wrongOption } from '../base/errors.ts'
import { CallerCheck, createUserCheck } from './caller-check.ts'
import { redactError } from './redact-error.ts'

/**
 * A token or an API key, or a function that returns the current one; `null`, `undefined` or an empty string if nobody
 * is signed in, which counts as a 401. The function is called before each request and each socket. While it throws, the
 * client counts as offline, and calls it again later.
 */
export type CredentialSource = string | (() => string | null | undefined | Promise<string | null | undefined>)

/** The maximum number of refused credentials to remember: most are never used again. */
const maxRefused = 20

/** At most one of `token` and `apiKey`. Without either, the client sends no credential; cookies may authenticate it. */
export interface CredentialOptions {
  /** Sent as `Authorization: Bearer`, and in the query of a socket that cannot send headers. */
  readonly token?: CredentialSource | undefined
  /** Sent as `X-API-Key`. If a socket cannot send headers, as in a page, the client polls. */
  readonly apiKey?: CredentialSource | undefined
  /**
   * Returns the `identity` that a token or an API key belongs to, such as the `sub` of a JSON Web Token. A credential of
   * another identity is never sent: the connection becomes `unauthenticated`, with the code `other_user`. The function is
   * called before each request and each socket. While it throws, nothing is sent, and it is called again later. Not
   * needed for a service that names its callers, as Instep's own does.
   */
  readonly identityOf?: ((token: string) => string | Promise<string>) | undefined
}

export interface Credential {
  readonly scheme: 'bearer' | 'apiKey'
  readonly value: string
}

export interface Credentials {
  /** Checks that responses are for the user who owns the data. */
  readonly callerCheck: CallerCheck
  /** How credentials are sent; `none` if the options name no source. */
  readonly scheme: Credential['scheme'] | 'none'
  /**
   * Resolves with the credential for the next request; `undefined` if the client sends none. Rejects with an
   * UnauthenticatedError if the source has no credential or another user's; with a retryable NetworkError if the source
   * or `identityOf` fails; with a ConfigurationError if a header cannot carry the credential.
   */
  get(): Promise<Credential | undefined>
  /**
   * Sends `value` instead of the source's credential until the source returns another one. Throws a ConfigurationError
   * if a header cannot carry `value`.
   */
  use(value: string): void
  /** The service has accepted `credential`: a later refusal is to be reported again. */
  accepted(credential: Credential | undefined): void
  /**
   * Returns an error for the refusal of `credential`. The error does not contain the credential; only {@link rejected}
   * knows which one it was.
   */
  refuse(message: string, credential: Credential | undefined): UnauthenticatedError
  /**
   * Whether `error` is the first error for its credential, and `use` has not replaced that credential. Several requests
   * may fail with the same credential.
   */
  rejected(error: unknown): boolean
  /** Forgets all refused credentials, so that their next refusal is reported again. */
  forget(): void
}

/** The credentials of `identity`. Throws a ConfigurationError if the options are wrong. */
export function createCredentials(
  { token, apiKey, identityOf }: CredentialOptions,
  identity?: string | null,
): Credentials {
  if (token !== undefined && apiKey !== undefined) {
    throw wrongOption('apiKey', 'is set beside `token`; expected only one of the two.')
  }
  const option = apiKey === undefined ? 'token' : 'apiKey'
  const source = token ?? apiKey
  const scheme = apiKey === undefined ? 'bearer' : 'apiKey'
  if (source !== undefined && typeof source !== 'function') check(option, source)

  let yielded: string | undefined
  let replacement: string | undefined
  // The credential of each error; `undefined` if none was sent. Kept outside the errors, so that printing one shows no
  // credential.
  const values = new WeakMap<UnauthenticatedError, string | undefined>()
  const refused = new Set<unknown>()
  const refuseIf = createUserCheck()

  const refuse = (message: string, credential?: Credential) => {
    const error = new UnauthenticatedError(message)
    values.set(error, credential?.value)
    return error
  }

  /** Calls the application's function `name`. */
  const call = async (name: string, run: () => unknown): Promise<unknown> => {
    // Run it asynchronously: the function may use the client.
    await undefined
    try {
      return await run()
    } catch (error) {
      if (isSyncError(error, 'UnauthenticatedError')) throw error
      throw new NetworkError('unreachable', `The function \`${name}\` failed; the client calls it again.`, {
        cause: redactError(error),
      })
    }
  }

  return {
    callerCheck: new CallerCheck(),
    scheme: source === undefined ? 'none' : scheme,
    async get() {
      const yields = await call(option, () => (typeof source === 'function' ? source() : source))
      const value = check(option, yields ?? '')
      if (yielded !== undefined && value !== yielded) replacement = undefined
      yielded = value
      const current = replacement ?? value
      if (current) {
        refuseIf(identityOf && (await call('identityOf', () => identityOf(current))) !== identity)
        return { scheme, value: current }
      }
      if (source === undefined) return undefined
      throw refuse(`There is no \`${option}\` to send; sign in, then call \`resume()\`.`)
    },
    use(value) {
      replacement = check(option, value)
    },
    accepted(credential) {
      refused.delete(credential?.value)
      refused.delete(undefined)
    },
    refuse,
    rejected(error) {
      const refusal = error as UnauthenticatedError
      const value = values.get(refusal)
      if (value !== undefined && replacement !== undefined && value !== replacement) return false
      const about = refusal.code === 'other_user' ? refusal : value
      const isFirst = !refused.has(about)
      refused.add(about)
      const [oldest] = refused
      if (refused.size > maxRefused) refused.delete(oldest)
      return isFirst
    },
    forget: () => refused.clear(),
  }
}

/** The header that carries `credential` (RFC 6750, section 2.1; docs/protocol.md for `X-API-Key`). */
export function headersOf(credential: Credential | undefined): Readonly<Record<string, string>> {
  if (credential === undefined) return {}
  const { scheme, value } = credential
  return scheme === 'bearer' ? { Authorization: `Bearer ${value}` } : { 'X-API-Key': value }
}

/** Returns `value` if it is visible ASCII or empty: a header changes or refuses all else (RFC 9110, section 5.5). */
function check(option: string, value: unknown): string {
  if (typeof value === 'string' && /^[!-~]*$/.test(value)) return value
  const fault = typeof value === 'string' ? 'holds a character that no header can carry' : 'is not a string'
  throw wrongOption(option, `${fault}; expected visible ASCII without spaces.`)
}
