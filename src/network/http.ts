import type { Environment } from '../base/environment.ts'
import { ConfigurationError, NetworkError, ProtocolError, SyncError } from '../base/errors.ts'
import type { Debug } from '../base/logger.ts'
import { yieldAfter } from '../base/turns.ts'
import { type DeltaMessage, readDelta } from '../protocol/delta.ts'
import { parseJson } from '../protocol/envelope.ts'
import { idleMs, readText } from './body.ts'
import { type Credential, type Credentials, headersOf } from './credentials.ts'
import { type Endpoints, redactUrl, withQuery } from './endpoints.ts'
import { failureOf } from './failure.ts'
import { mistakeOf, redactError } from './redact-error.ts'
import { beginRequest, type PendingRequest } from './request.ts'
import { errorOf } from './response-error.ts'
import { readSnapshot } from './snapshot.ts'
import type { Transport } from './transport.ts'

/** Timeout in ms for the start of a response, and for getting credentials. */
const answerMs = 30_000

/** Extra time per 100 000 characters of the request body, for slow uplinks: `answerMs` each. */
const slowChars = 100_000

/** Timeout in ms for the start of a snapshot: a service may have to read all rows first. */
const snapshotMs = 120_000

/** Timeout in ms for each 64 KiB of a response that is read whole: a slow trickle might never end. */
const textMs = 600_000

/** The maximum number of bytes to read of an error response. */
const reasonBytes = 16 * 1024

export interface TransportOptions {
  readonly environment: Pick<Environment, 'fetch' | 'clock'>
  readonly endpoints: Endpoints
  readonly credentials: Credentials
  readonly debug?: Debug
}

/** If a delta takes longer to parse or to read, in ms, other tasks run before the next step. */
const longParseMs = 4

/** The error message for a write on a client without an address for writes. */
export const noTxUrl = '`endpoints.txUrl` is missing, so this client cannot write; set it.'

/** A position above all others: a delta from there has no changes. */
const beyond = Number.MAX_SAFE_INTEGER

/** A pending request and its credential. */
type Request = PendingRequest & { readonly credential: Credential | undefined }

export function createTransport(options: TransportOptions): Transport {
  const { environment, endpoints, credentials, debug } = options
  // Call it as a plain function: the `fetch` of a browser refuses another `this`.
  const { clock, fetch: request } = environment
  const { callerCheck } = credentials

  /** Runs `body` with the credential of `prepared`; without it, with the current one. */
  const run = async <T>(
    signal: AbortSignal | undefined,
    body: (request: Request) => Promise<T>,
    prepared?: Request,
  ): Promise<T> => {
    const call = beginRequest(clock, signal)
    try {
      const { credential } = prepared ?? {
        credential: await call.wait(credentials.get(), answerMs, 'Getting credentials'),
      }
      return await body({ ...call, credential })
    } finally {
      call.end()
    }
  }

  /** Sends a GET, or a POST of `json`. Resolves with the response if its status is 2xx. */
  const ask = async (call: Request, url: string, beginMs: number, json?: string): Promise<Response> => {
    const { credential, signal } = call
    const address = redactUrl(url)
    const post = json !== undefined && { method: 'POST', body: json }
    const type = post && { 'Content-Type': 'application/json' }
    const send = async () =>
      request(url, {
        ...post,
        headers: { Accept: 'application/json', ...type, ...headersOf(credential) },
        cache: 'no-store',
        // Following a redirect would send the API key to its target.
        redirect: 'manual',
        signal,
      })
    const sending = send().catch((cause) => {
      const mistake = mistakeOf(cause)
      if (mistake)
        throw new SyncError('SyncError', 'unexpected', `\`environment.fetch\` failed: ${mistake}.`, {
          cause: redactError(cause),
        })
      throw new NetworkError('unreachable', `${address} cannot be reached.`, { cause: redactError(cause) })
    })
    const slowMs = answerMs * Math.floor((json?.length ?? 0) / slowChars)
    const begunAt = clock.now()
    const response = await call.wait(sending, beginMs + slowMs, address)
    debug?.(`${address}: ${response.status}`, { ms: clock.now() - begunAt })
    if (response.ok) {
      credentials.accepted(credential)
      return response
    }
    // The status is enough: ignore a body that fails or never ends.
    const text = await readText(response, call, idleMs, reasonBytes).catch(() => '')
    throw errorOf({ url, response, text, credentials, credential, now: clock.now() })
  }

  /** Sends a request and resolves with the text of the response. */
  const askForText = async (call: Request, url: string, json?: string): Promise<string> =>
    readText(await ask(call, url, answerMs, json), call, textMs)

  const askForDelta = async (call: Request, since: number): Promise<DeltaMessage> => {
    const text = await askForText(call, withQuery(endpoints.deltaUrl, 'since', since))
    const pauseIfLong = yieldAfter(clock, longParseMs)
    const json = parseJson(text, 'The delta')
    await pauseIfLong()
    const delta = readDelta(json)
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
    prepareTx: (signal) =>
      run(signal, async (call) => {
        const { txUrl } = endpoints
        if (txUrl === undefined) throw new ConfigurationError('endpoints.txUrl', noTxUrl)
        if (callerCheck.needsRead(call.credential)) {
          await askForDelta(call, beyond).catch((error) => {
            const { kind } = failureOf(error)
            // A refusal of the delta is not a result of the transactions.
            throw kind === 'reset' || kind === 'refused'
              ? new ProtocolError('bad_envelope', error.message)
              : error
          })
        }
        return (json) =>
          run(signal, async (post) => parseJson(await askForText(post, txUrl, json), 'The response'), call)
      }),
  }
}
