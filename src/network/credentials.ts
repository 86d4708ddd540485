import { isSyncError, NetworkError, UnauthenticatedError, wrongOption } from '../base/errors.ts'
import { CallerCheck, refusal } from './caller-check.ts'
import { redactError } from './redact-error.ts'

/** A credential, or what gives the present one; nothing, where nobody is signed in. */
export type CredentialSource = string | (() => string | null | undefined | Promise<string | null | undefined>)

/** So many refused credentials are remembered: most are never seen again, since another one took their place. */
const maxTold = 20

/** One of the two, or neither: then the client sends nothing, and cookies may speak for it. */
export interface CredentialOptions {
  readonly token?: CredentialSource | undefined
  readonly apiKey?: CredentialSource | undefined
  /**
   * Gives the `identity` that a token or an API key belongs to. One of another identity is never sent: that is
   * `unauthenticated`, with the code `other_user`. While it throws, nothing is sent either, and it is called again later.
   */
  readonly identityOf?: ((token: string) => string | Promise<string>) | undefined
}

export interface Credential {
  readonly scheme: 'bearer' | 'apiKey'
  readonly value: string
}

export interface Credentials {
  /** Whether what is answered to them is for the user whose data it is. */
  readonly callerCheck: CallerCheck
  /** How they are sent, as far as the options say. */
  readonly scheme: Credential['scheme'] | 'none'
  /**
   * What to send with the next request; `undefined` where the client sends nothing. Rejects with an
   * UnauthenticatedError where the source has none, or another user's; with a retryable NetworkError where it or
   * `identityOf` failed; and with a ConfigurationError where it gave what no header can carry.
   */
  get(): Promise<Credential | undefined>
  /**
   * Sends `value` in place of what the source yields, until the source yields another. Throws a ConfigurationError
   * where no header can carry it.
   */
  use(value: string): void
  /** Notes that the service took `credential`: should it be refused later, that is news again. */
  accepted(credential: Credential | undefined): void
  /** An error that says `credential` was refused. Only {@link rejected} can tell which one it is about. */
  refuse(message: string, credential: Credential | undefined): UnauthenticatedError
  /** Whether `error` is the first about its credential, however many calls failed with it together. */
  rejected(error: unknown): boolean
  /** That one was refused is news again, also of a credential that was refused before. */
  forget(): void
}

/** The credentials of `identity`. Throws a ConfigurationError where the options are wrong. */
export function createCredentials(
  { token, apiKey, identityOf }: CredentialOptions,
  identity?: string | null,
): Credentials {
  if (token !== undefined && apiKey !== undefined) {
    throw wrongOption('apiKey', 'is given beside `token`; expected one of the two.')
  }
  const option = apiKey === undefined ? 'token' : 'apiKey'
  const source = token ?? apiKey
  const scheme = apiKey === undefined ? 'bearer' : 'apiKey'
  if (source !== undefined && typeof source !== 'function') check(option, source)

  let yielded: string | undefined
  let replacement: string | undefined
  // By value; `undefined` stands for nothing sent. Kept beside the errors, so that printing one shows no credential.
  const values = new WeakMap<UnauthenticatedError, string | undefined>()
  const told = new Set<unknown>()
  const refuseIf = refusal()

  const refuse = (message: string, credential?: Credential) => {
    const error = new UnauthenticatedError(message)
    values.set(error, credential?.value)
    return error
  }

  /** What the application's function of this name gives. */
  const ask = async (name: string, run: () => unknown): Promise<unknown> => {
    // In a turn of its own: it may use the client.
    await undefined
    try {
      return await run()
    } catch (error) {
      if (isSyncError(error, 'UnauthenticatedError')) throw error
      throw new NetworkError('unreachable', `The function \`${name}\` failed; it is called again later.`, {
        cause: redactError(error),
      })
    }
  }

  return {
    callerCheck: new CallerCheck(),
    scheme: source === undefined ? 'none' : scheme,
    async get() {
      const given = await ask(option, () => (typeof source === 'function' ? source() : source))
      const value = check(option, given ?? '')
      if (yielded !== undefined && value !== yielded) replacement = undefined
      yielded = value
      const present = replacement ?? value
      if (present) {
        refuseIf(identityOf && (await ask('identityOf', () => identityOf(present))) !== identity)
        return { scheme, value: present }
      }
      if (source === undefined) return undefined
      throw refuse(`There is no \`${option}\` to send; sign in, then call \`resume()\`.`)
    },
    use(value) {
      replacement = check(option, value)
    },
    accepted(credential) {
      told.delete(credential?.value)
      told.delete(undefined)
    },
    refuse,
    rejected(error) {
      const refusal = error as UnauthenticatedError
      const about = refusal.code === 'other_user' ? refusal : values.get(refusal)
      const first = !told.has(about)
      told.add(about)
      const [oldest] = told
      if (told.size > maxTold) told.delete(oldest)
      return first
    },
    forget: () => told.clear(),
  }
}

/** The header that carries `credential` (RFC 6750, section 2.1; `X-API-Key` as in the interface). */
export function headersOf(credential: Credential | undefined): Readonly<Record<string, string>> {
  if (credential === undefined) return {}
  const { scheme, value } = credential
  return scheme === 'bearer' ? { Authorization: `Bearer ${value}` } : { 'X-API-Key': value }
}

/** Visible ASCII, or nothing: a header changes or refuses the rest (RFC 9110, section 5.5). */
function check(option: string, value: unknown): string {
  if (typeof value === 'string' && /^[!-~]*$/.test(value)) return value
  const fault = typeof value === 'string' ? 'holds a character that no header can carry' : 'is no string'
  throw wrongOption(option, `${fault}; expected visible ASCII without spaces.`)
}
