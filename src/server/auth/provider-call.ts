import { withDeadline } from '../../base/deadline.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock, Fetch } from '../../base/environment.ts'
import { HttpError, NetworkError, ProtocolError, toError } from '../../base/errors.ts'
import { isObject, readJson } from '../../protocol/json.ts'

/** Where a provider is asked. */
export interface ProviderAddress {
  /** The whole address of the endpoint. */
  readonly url: string
  /** How long an answer may take to its end, in ms. @default 5_000 */
  readonly timeoutMs?: number
  readonly fetch?: Fetch
  readonly clock?: Clock
}

export type JsonObject = Readonly<Record<string, unknown>>

export interface ProviderAnswer {
  readonly status: number
  /** What it says, as JSON; `undefined` where that is no object. */
  readonly body: JsonObject | undefined
}

/**
 * One answer of a provider, whatever its status. Rejects with a NetworkError where none comes in time. No redirect is
 * followed: it would take the token along.
 */
export async function callProvider(address: ProviderAddress, init: RequestInit): Promise<ProviderAnswer> {
  const { url, timeoutMs = 5_000 } = address
  const { clock, fetch } = resolveEnvironment()
  const controller = new AbortController()
  const call = async (): Promise<ProviderAnswer> => {
    try {
      const request = { ...init, redirect: 'manual' as const, signal: controller.signal }
      const response = await (address.fetch ?? fetch)(url, request)
      return { status: response.status, body: objectOf(await response.text()) }
    } catch (cause) {
      const { name } = toError(cause)
      throw new NetworkError('unreachable', `The provider of tokens cannot be reached (${name}).`, { cause })
    }
  }
  return withDeadline(address.clock ?? clock, timeoutMs, call(), () => {
    controller.abort()
    return new NetworkError('timeout', `The provider of tokens did not answer within ${timeoutMs} ms.`)
  })
}

/** What a 200 says. Throws for every other answer: it tells nothing about the token. */
export function expectOk({ status, body }: ProviderAnswer): JsonObject {
  if (status !== 200) {
    throw new HttpError(
      `The provider of tokens answered with status ${status}; check its address and this client's credentials.`,
      { status },
    )
  }
  if (!body)
    throw new ProtocolError(
      'not_json',
      'The provider of tokens answered with something that is no JSON object.',
    )
  return body
}

function objectOf(text: string): JsonObject | undefined {
  const value = readJson(text)
  return isObject(value) ? value : undefined
}
