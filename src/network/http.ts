import type { Environment } from '../base/environment.ts'
import { ConfigurationError, NetworkError, ProtocolError, toError } from '../base/errors.ts'
import { yieldAfter } from '../base/turns.ts'
import { type DeltaMessage, readDelta } from '../protocol/delta.ts'
import { parseJson } from '../protocol/envelope.ts'
import { idleMs, readText } from './body.ts'
import { type Credential, type Credentials, headersOf } from './credentials.ts'
import { type Endpoints, redactUrl, withQuery } from './endpoints.ts'
import { failureOf } from './failure.ts'
import { redactError } from './redact-error.ts'
import { type PendingRequest, runRequest } from './request.ts'
import { errorOf } from './response-error.ts'
import { readSnapshot } from './snapshot.ts'
import type { Transport } from './transport.ts'

/** Until an answer begins, and until credentials are there, in ms. */
const answerMs = 30_000

/** So long again for each so many characters that are sent: a slow line has to carry them first. */
const slowChars = 100_000

/** Until a snapshot begins, for which a service may have to read all its rows first, in ms. */
const snapshotMs = 120_000

/** Until 64 KiB more, or the end, of an answer that is read whole, in ms: one that trickles on may never end. */
const textMs = 600_000

/** How much of what a refusal says is read, in bytes. */
const reasonBytes = 16 * 1024

export interface TransportOptions {
  readonly environment: Pick<Environment, 'fetch' | 'clock'>
  readonly endpoints: Endpoints
  readonly credentials: Credentials
}

/** A delta that takes longer to parse, in ms, is applied in a turn of its own, which takes several times as long. */
const longParseMs = 4

/** Said where something is to be written and there is nowhere to send it. */
export const noTxUrl = '`endpoints.txUrl` is missing: without it this client only reads.'

/** Above every position: a delta from there brings no changes. */
const beyond = Number.MAX_SAFE_INTEGER

/** A call, and with what it is sent. */
type Request = PendingRequest & { readonly credential: Credential | undefined }

export function createTransport(options: TransportOptions): Transport {
  const { environment, endpoints, credentials } = options
  const { clock } = environment
  const { callerCheck } = credentials

  /** Runs `body` with the present credentials. */
  const run = <T>(signal: AbortSignal | undefined, body: (request: Request) => Promise<T>): Promise<T> =>
    runRequest(clock, signal, async (call) => {
      const credential = await call.wait(credentials.get(), answerMs, 'Getting credentials')
      return body({ ...call, credential })
    })

  /** The answer, if it is a 2xx. */
  const ask = async (
    call: Request,
    url: string,
    beginMs: number,
    body?: () => Promise<string>,
  ): Promise<Response> => {
    const { credential } = call
    const json = await body?.()
    const sending = send(call, url, headersOf(credential), json)
    const slowMs = answerMs * Math.floor((json?.length ?? 0) / slowChars)
    const response = await call.wait(sending, beginMs + slowMs, redactUrl(url))
    if (response.ok) {
      credentials.accepted(credential)
      return response
    }
    // The status says enough, so a body that fails or never ends changes nothing.
    const text = await readText(response, call, idleMs, reasonBytes).catch(() => '')
    throw errorOf({ url, response, text, credentials, credential, now: clock.now() })
  }

  /** A POST of `json` where there is one, a GET otherwise. */
  const send = async (
    call: PendingRequest,
    url: string,
    headers: Readonly<Record<string, string>>,
    json: string | undefined,
  ): Promise<Response> => {
    const posted = json !== undefined && { method: 'POST', body: json }
    const type = posted && { 'Content-Type': 'application/json' }
    try {
      return await environment.fetch(url, {
        ...posted,
        headers: { Accept: 'application/json', ...type, ...headers },
        cache: 'no-store',
        // Followed, a redirect would carry an API key to wherever it leads.
        redirect: 'manual',
        signal: call.signal,
      })
    } catch (cause) {
      const message = `${redactUrl(url)} cannot be reached.`
      throw new NetworkError('unreachable', message, { cause: redactError(cause) })
    }
  }

  /** The text that answers a request. */
  const askForText = async (call: Request, url: string, body?: () => Promise<string>): Promise<string> =>
    readText(await ask(call, url, answerMs, body), call, textMs)

  const askForDelta = async (call: Request, since: number): Promise<DeltaMessage> => {
    const text = await askForText(call, withQuery(endpoints.deltaUrl, 'since', since))
    const pauseIfLong = yieldAfter(clock, longParseMs)
    const delta = readDelta(parseJson(text, 'The delta'))
    callerCheck.checkRead(delta.caller, call.credential)
    await pauseIfLong()
    return delta
  }

  return {
    bootstrap: (sink, signal) =>
      run(signal, async (call) => {
        const checkCaller = (caller?: string) => callerCheck.checkRead(caller, call.credential)
        const response = await ask(call, endpoints.bootstrapUrl, snapshotMs)
        return readSnapshot({ response, call, clock, checkCaller }, sink)
      }),
    delta: (since, signal) => run(signal, (call) => askForDelta(call, since)),
    transact: (body, signal) =>
      run(signal, async (call) => {
        const { txUrl } = endpoints
        if (txUrl === undefined) throw new ConfigurationError('endpoints.txUrl', noTxUrl)
        if (callerCheck.needsRead(call.credential)) {
          await askForDelta(call, beyond).catch((error) => {
            const { kind } = failureOf(error)
            // What is said of a delta is no verdict on a transaction.
            throw kind === 'reset' || kind === 'refused'
              ? new ProtocolError('bad_envelope', error.message)
              : error
          })
        }
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
    throw new ConfigurationError(
      'transactionCodec',
      `\`transactionCodec\` gives no JSON: ${toError(cause).message}`,
      { cause },
    )
  }
}
