import { withDeadline } from '../../base/deadline.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock, Fetch } from '../../base/environment.ts'
import { HttpError, NetworkError, ProtocolError, toError } from '../../base/errors.ts'
import { isObject, readJson } from '../../protocol/json.ts'

/** The endpoint of a provider. */
export interface ProviderAddress {
  /** The full URL of the endpoint. */
  readonly url: string
  /** The time limit for the complete response, in ms. @default 5_000 */
  readonly timeoutMs?: number
  readonly fetch?: Fetch
  readonly clock?: Clock
}

export type JsonObject = Readonly<Record<string, unknown>>

export interface ProviderResponse {
  readonly status: number
  /** The JSON object of the body; `undefined` if the body is not a JSON object. */
  readonly body: JsonObject | undefined
}

/**
 * Sends a request to a provider. Resolves with the response, whatever its status. Rejects with a NetworkError if no
 * response arrives in time. Redirects are not followed, since that would pass on the token.
 */
export async function callProvider(address: ProviderAddress, init: RequestInit): Promise<ProviderResponse> {
  const { url, timeoutMs = 5_000 } = address
  const { clock, fetch } = resolveEnvironment()
  const controller = new AbortController()
  const call = async (): Promise<ProviderResponse> => {
    try {
      const request = { ...init, redirect: 'manual' as const, signal: controller.signal }
      const response = await (address.fetch ?? fetch)(url, request)
      return { status: response.status, body: objectOf(await response.text()) }
    } catch (cause) {
      const { name } = toError(cause)
      throw new NetworkError('unreachable', `The token provider cannot be reached (${name}).`, { cause })
    }
  }
  return withDeadline(address.clock ?? clock, timeoutMs, call(), () => {
    controller.abort()
    return new NetworkError('timeout', `The token provider did not answer within ${timeoutMs} ms.`)
  })
}

/** The body of a 200 response. Throws for every other response, since it says nothing about the token. */
export function expectOk({ status, body }: ProviderResponse): JsonObject {
  if (status !== 200) {
    throw new HttpError(
      `The token provider answered with status ${status}. Check its URL and this client's credentials.`,
      { status },
    )
  }
  if (!body) throw new ProtocolError('not_json', 'The token provider’s response is not a JSON object.')
  return body
}

function objectOf(text: string): JsonObject | undefined {
  const value = readJson(text)
  return isObject(value) ? value : undefined
}
