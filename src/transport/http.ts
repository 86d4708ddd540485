import { ConfigurationError, NetworkError } from '../base/errors.ts'
import { type Logger, silentLogger } from '../base/logger.ts'
import type { Fetch, World } from '../base/world.ts'
import { readDelta } from '../protocol/delta.ts'
import { parseJson } from '../protocol/envelope.ts'
import { errorOf } from './answer.ts'
import { readText } from './body.ts'
import { type Call, runCall } from './call.ts'
import { type Credentials, headersOf } from './credentials.ts'
import { type Endpoints, redactUrl, withQuery } from './endpoints.ts'
import { outline } from './outline.ts'
import { readSnapshot, type SnapshotReader, type SnapshotWorker } from './snapshot.ts'
import type { Transport } from './transport.ts'

export interface TransportLimits {
  /** ms until an answer begins, and until credentials are there. @default 30_000 */
  readonly answerMs: number
  /** ms until a snapshot begins, for which a service may have to read all its rows first. @default 120_000 */
  readonly snapshotMs: number
  /** ms without a byte, once an answer has begun. @default 30_000 */
  readonly idleMs: number
  /** The longest row of a snapshot, in bytes. @default 16 * 2 ** 20 */
  readonly maxRowBytes: number
}

export const defaultLimits: TransportLimits = {
  answerMs: 30_000,
  snapshotMs: 120_000,
  idleMs: 30_000,
  maxRowBytes: 16 * 2 ** 20,
}

export interface TransportOptions {
  readonly world: Pick<World, 'fetch' | 'clock'>
  readonly endpoints: Endpoints
  readonly credentials: Credentials
  readonly limits?: Partial<TransportLimits>
  /** Who fetches and reads snapshots. @default the page itself */
  readonly worker?: SnapshotWorker | undefined
  readonly logger?: Logger | undefined
}

/** Said where something is to be written and there is nowhere to send it. */
export const noTxUrl = '`endpoints.txUrl` is missing: without it this client only reads.'

/** How much of an error's body is read. */
const errorBodyBytes = 16 * 1024

export function createTransport(options: TransportOptions): Transport {
  const { world, endpoints, credentials, limits, worker, logger = silentLogger } = options
  const { clock } = world
  const { answerMs, snapshotMs, idleMs, maxRowBytes } = { ...defaultLimits, ...limits }

  const inPage: SnapshotReader = { fetch: world.fetch, read: readSnapshot }

  /** The answer to a request, if it is a 2xx: to a POST of `json` where there is one, to a GET otherwise. */
  const ask = async (
    call: Call,
    url: string,
    beginMs: number,
    { json, fetch = world.fetch }: { readonly json?: string; readonly fetch?: Fetch } = {},
  ): Promise<Response> => {
    const credential = await call.wait(credentials.get(), answerMs, 'Getting credentials')
    const sending = send(call, url, headersOf(credential), json, fetch)
    const response = await call.wait(sending, beginMs, redactUrl(url))
    if (response.ok) {
      credentials.accepted(credential)
      return response
    }
    // The status says enough, so a body that fails or never ends changes nothing.
    const body = readText(response, call, idleMs, errorBodyBytes)
    const text = await call.wait(body, idleMs, 'Reading why').catch(() => '')
    throw errorOf({ url, response, text, credentials, credential, now: clock.now() })
  }

  const send = async (
    call: Call,
    url: string,
    headers: Readonly<Record<string, string>>,
    json: string | undefined,
    fetch: Fetch,
  ): Promise<Response> => {
    const posted = json === undefined ? undefined : { method: 'POST', body: json }
    const type = posted && { 'Content-Type': 'application/json' }
    try {
      return await fetch(url, {
        ...posted,
        headers: { Accept: 'application/json', ...type, ...headers },
        cache: 'no-store',
        // Followed, a redirect would carry an API key to wherever it leads.
        redirect: 'manual',
        signal: call.signal,
      })
    } catch (cause) {
      const message = `${redactUrl(url)} cannot be reached.`
      throw new NetworkError('unreachable', message, { cause: outline(cause) })
    }
  }

  return {
    bootstrap: (sink, signal) =>
      runCall(clock, signal, async (call) => {
        const reader = (await worker?.begin(call, logger)) ?? inPage
        const fetch: Fetch = (url, init) => reader.fetch(url, init)
        const response = await ask(call, endpoints.bootstrapUrl, snapshotMs, { fetch })
        return reader.read({ response, call, clock, idleMs, maxRowBytes }, sink)
      }),
    delta: (since, signal) =>
      runCall(clock, signal, async (call) => {
        const response = await ask(call, withQuery(endpoints.deltaUrl, 'since', since), answerMs)
        return readDelta(parseJson(await readText(response, call, idleMs), 'The delta'))
      }),
    transact: (body, signal) =>
      runCall(clock, signal, async (call) => {
        const { txUrl } = endpoints
        if (txUrl === undefined) throw new ConfigurationError('endpoints.txUrl', noTxUrl)
        const response = await ask(call, txUrl, answerMs, { json: JSON.stringify(body) })
        return parseJson(await readText(response, call, idleMs), 'The answer to a transaction')
      }),
  }
}
