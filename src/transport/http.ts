import { ConfigurationError, NetworkError, toError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { turnsOf } from '../base/turns.ts'
import type { World } from '../base/world.ts'
import { readDelta } from '../protocol/delta.ts'
import { parseJson } from '../protocol/envelope.ts'
import { type Answer, answerOf, errorOf, type Fetched } from './answer.ts'
import { readText } from './body.ts'
import { type Call, runCall } from './call.ts'
import { type Credentials, headersOf } from './credentials.ts'
import { type Endpoints, redactUrl, withQuery } from './endpoints.ts'
import { outline } from './outline.ts'
import { inPage, type SnapshotWorker } from './snapshot.ts'
import type { Transport } from './transport.ts'

/** Until an answer begins, and until credentials are there, in ms. */
const answerMs = 30_000

/** So long again for each so many characters that are sent: a slow line has to carry them first. */
const slowChars = 100_000

/** Until a snapshot begins, for which a service may have to read all its rows first, in ms. */
const snapshotMs = 120_000

/** Until 64 KiB more, or the end, of an answer that is read whole, in ms: one that trickles on may never end. */
const textMs = 600_000

export interface TransportOptions {
  readonly world: Pick<World, 'fetch' | 'clock'>
  readonly endpoints: Endpoints
  readonly credentials: Credentials
  /** Who fetches and reads snapshots. @default the page itself */
  readonly worker?: SnapshotWorker | undefined
  readonly logger: Logger
}

/** A delta that takes longer to parse, in ms, is applied in a turn of its own, which takes several times as long. */
const longParseMs = 4

/** Said where something is to be written and there is nowhere to send it. */
export const noTxUrl = '`endpoints.txUrl` is missing: without it this client only reads.'

/** Sends a request as `fetch` does. */
type Exchange<A> = (url: string, init: RequestInit) => Promise<A>

export function createTransport(options: TransportOptions): Transport {
  const { world, endpoints, credentials, worker, logger } = options
  const { clock } = world

  /** The answer that `exchange` brings, if it is a 2xx. */
  const ask = async <A extends Answer>(
    call: Call,
    url: string,
    beginMs: number,
    exchange: Exchange<A>,
    body?: () => Promise<string>,
  ): Promise<A> => {
    const credential = await call.wait(credentials.get(), answerMs, 'Getting credentials')
    const json = await body?.()
    const sending = send(call, url, headersOf(credential), exchange, json)
    const slowMs = answerMs * Math.floor((json?.length ?? 0) / slowChars)
    const answer = await call.wait(sending, beginMs + slowMs, redactUrl(url))
    if (answer.ok) {
      credentials.accepted(credential)
      return answer
    }
    const text = await answer.reason()
    throw errorOf({ url, answer, text, credentials, credential, now: clock.now() })
  }

  /** A POST of `json` where there is one, a GET otherwise. */
  const send = async <A>(
    call: Call,
    url: string,
    headers: Readonly<Record<string, string>>,
    exchange: Exchange<A>,
    json: string | undefined,
  ): Promise<A> => {
    const posted = json !== undefined && { method: 'POST', body: json }
    const type = posted && { 'Content-Type': 'application/json' }
    try {
      return await exchange(url, {
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

  /** The text that answers a request. */
  const askForText = async (call: Call, url: string, body?: () => Promise<string>): Promise<string> => {
    const exchange: Exchange<Fetched> = (url, init) => answerOf(world.fetch(url, init), call)
    const { response } = await ask(call, url, answerMs, exchange, body)
    return readText(response, call, textMs)
  }

  return {
    bootstrap: (sink, signal) =>
      runCall(clock, signal, async (call) => {
        const request = { call, clock, fetch: world.fetch, sink, logger }
        const exchange = (await worker?.begin(request)) ?? inPage(request)
        const answer = await ask(call, endpoints.bootstrapUrl, snapshotMs, exchange)
        return answer.read()
      }),
    delta: (since, signal) =>
      runCall(clock, signal, async (call) => {
        const text = await askForText(call, withQuery(endpoints.deltaUrl, 'since', since))
        const pauseIfLong = turnsOf(clock, longParseMs)
        const delta = readDelta(parseJson(text, 'The delta'))
        await pauseIfLong()
        return delta
      }),
    transact: (body, signal) =>
      runCall(clock, signal, async (call) => {
        const { txUrl } = endpoints
        if (txUrl === undefined) throw new ConfigurationError('endpoints.txUrl', noTxUrl)
        return parseJson(await askForText(call, txUrl, () => jsonOf(body)), 'The answer to a transaction')
      }),
  }
}

async function jsonOf(body: () => unknown): Promise<string> {
  try {
    const json: string | undefined = JSON.stringify(await body())
    // Without a body it would be a GET, whose answer says nothing of what was written.
    if (!json) throw new Error('it gives nothing.')
    return json
  } catch (cause) {
    throw new ConfigurationError('txCodec', `\`txCodec\` gives no JSON: ${toError(cause).message}`, { cause })
  }
}
