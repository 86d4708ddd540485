import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestOptions,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { Unsubscribe } from '../base/emitter.ts'
import type { Clock } from '../base/environment.ts'
import { codeOf, toError } from '../base/errors.ts'
import { readJson } from '../protocol/json.ts'
import type { As, Credentials } from './credentials.ts'
import type { Exchange } from './exchange.ts'

export interface WireRequest {
  /** @default 'GET', or 'POST' if there is a `body` */
  readonly method?: string
  /** The path after the base address, with its query, as in `/delta?since=0`. */
  readonly path: string
  /** @default 'token' */
  readonly as?: As
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** An answer as it came, and decoded. */
export interface Answer {
  readonly status: number
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Without compression. Empty if that is broken. */
  readonly text: string
  /** `undefined` if `text` is not JSON. */
  readonly json: unknown
  readonly exchange: Exchange
}

/** There was no answer in time, or none that could be read. The message says why. */
export class NoAnswer extends Error {
  readonly exchange: Exchange
  /** The code of the error in Node, as in `ECONNREFUSED`. */
  readonly code: unknown

  constructor(message: string, exchange: Exchange, code?: unknown) {
    super(message)
    this.exchange = exchange
    this.code = code
  }
}

/** The server keeps responding with 429 or 503, and says when to come back. */
export class Busy extends Error {
  readonly exchange: Exchange

  constructor(answer: Answer) {
    super(`The server responds with ${answer.status}, again and again; allow the suite more requests.`)
    this.exchange = answer.exchange
  }
}

/** The length up to which a body is in a report. */
const maxShown = 1_500

/** The headers of an answer that are in a report. */
const shownHeaders =
  /^(access-control-.*|cache-control|content-encoding|content-type|retry-after|vary|www-authenticate)$/

export interface WireOptions {
  readonly url: string
  readonly credentials: Credentials
  readonly clock: Clock
  /** The time limit of each request, in ms. */
  readonly requestMs: number
  /** Ends all requests. */
  readonly signal: AbortSignal
}

/** Sends requests to the server, and keeps the last one with its answer. */
export class Wire {
  readonly url: string
  readonly credentials: Credentials
  readonly clock: Clock
  readonly requestMs: number
  readonly signal: AbortSignal
  readonly #agent: HttpAgent
  readonly #onEnd = new Set<() => void>()
  /** The last request, with its answer. */
  last: Exchange | undefined

  constructor({ url, credentials, clock, requestMs, signal }: WireOptions, agent = agentFor(url)) {
    this.url = url
    this.credentials = credentials
    this.clock = clock
    this.requestMs = requestMs
    this.signal = signal
    this.#agent = agent
    // One listener of the signal for all requests: Node warns of more than ten.
    signal.addEventListener('abort', () => {
      for (const end of [...this.#onEnd]) end()
    })
  }

  /** Calls `end` once the signal aborts, or at once if it has. Returns a function that prevents that. */
  onEnd(end: () => void): Unsubscribe {
    if (this.signal.aborted) end()
    else this.#onEnd.add(end)
    return () => void this.#onEnd.delete(end)
  }

  /** The same connections for one check, with a record and an end of its own. */
  fork(signal: AbortSignal): Wire {
    const { url, credentials, clock, requestMs } = this
    return new Wire({ url, credentials, clock, requestMs, signal }, this.#agent)
  }

  /** Ends the connections. */
  close(): void {
    this.#agent.destroy()
  }

  /**
   * Sends a request. After a 429 or 503 with a `Retry-After` of a few seconds, sends it again. Rejects with a
   * {@link NoAnswer} if there is no answer within the time limit, and with {@link Busy} if the server stays busy.
   */
  async send(request: WireRequest): Promise<Answer> {
    const end = this.clock.now() + this.requestMs
    for (;;) {
      const answer = await this.#once(request)
      const isLimited = answer.status === 429
      const seconds = Number(answer.headers['retry-after'] ?? (isLimited ? 1 : Number.NaN))
      if (!(isLimited || answer.status === 503) || !(seconds >= 0)) return answer
      if (this.clock.now() + seconds * 1_000 > end) throw new Busy(answer)
      await this.pause(seconds * 1_000)
    }
  }

  /** Sends the whole request, and breaks the connection `afterMs` later, whatever has come by then. */
  cut(request: WireRequest, afterMs: number): Promise<void> {
    return new Promise((resolve) => {
      const sending = this.#start(request, { agent: false })
      sending.on('error', () => {})
      sending.on('response', (incoming) => incoming.on('error', () => {}))
      sending.on('close', () => resolve())
      sending.end(request.body, () => this.clock.after(afterMs, () => sending.destroy()))
    })
  }

  /** Resolves after `ms`. Rejects if the check ends before. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(ms, () => {
        forget()
        resolve()
      })
      const forget = this.onEnd(() => {
        cancel()
        reject(new Error('The check has ended.'))
      })
    })
  }

  /** What a request looks like in a report. */
  shown(request: WireRequest, headers: Readonly<Record<string, string>>): Exchange['request'] {
    const { path, body, method = body === undefined ? 'GET' : 'POST' } = request
    const text = typeof body === 'string' ? body : body && `${body.length} bytes`
    return {
      method,
      url: this.credentials.redact(this.url + path),
      headers: this.#redacted(headers),
      ...(text === undefined ? undefined : { body: this.#shortened(text) }),
    }
  }

  async #once(request: WireRequest): Promise<Answer> {
    try {
      return await this.#try(request)
    } catch (error) {
      // The server has closed a connection that was kept open, at the moment when this request used it.
      if (error instanceof NoAnswer && error.code === staleConnection) return this.#try(request)
      throw error
    }
  }

  #try(request: WireRequest): Promise<Answer> {
    const headers = this.#headersOf(request)
    const shown = this.shown(request, headers)
    return new Promise((resolve, reject) => {
      const sending = this.#start(request, { agent: this.#agent })
      let forget: Unsubscribe = () => {}
      const end = () => {
        cancel()
        forget()
      }
      const fail = (message: string, code?: unknown) => {
        end()
        sending.destroy()
        const exchange = { request: shown, answer: undefined, failure: message }
        this.last = exchange
        reject(new NoAnswer(message, exchange, code))
      }
      const cancel = this.clock.after(this.requestMs, () =>
        fail(`There was no answer within ${this.requestMs / 1_000} s.`),
      )
      forget = this.onEnd(() => fail('The check has ended.'))
      if (this.signal.aborted) return
      sending.on('error', (error) => {
        const isStale = sending.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(String(codeOf(error)))
        fail(this.credentials.redact(sentence(error)), isStale ? staleConnection : codeOf(error))
      })
      sending.on('upgrade', (incoming, socket) => {
        socket.destroy()
        end()
        resolve(this.#answerOf(shown, incoming.statusCode ?? 0, incoming.headers, Buffer.alloc(0)))
      })
      sending.on('response', (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', () => fail('The connection broke before the answer had ended.'))
        incoming.on('end', () => {
          end()
          resolve(this.#answerOf(shown, incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks)))
        })
      })
      sending.end(request.body)
    })
  }

  #start(request: WireRequest, { agent }: { agent: HttpAgent | false }) {
    const { path, body, method = body === undefined ? 'GET' : 'POST' } = request
    const url = new URL(this.url + path)
    const options: RequestOptions = { method, headers: this.#headersOf(request), agent }
    return url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options)
  }

  #headersOf({ as = 'token', headers, body }: WireRequest): Readonly<Record<string, string>> {
    return {
      ...(body === undefined
        ? undefined
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
      ...this.credentials.headersOf(as),
      ...headers,
    }
  }

  #answerOf(request: Exchange['request'], status: number, raw: IncomingHttpHeaders, body: Buffer): Answer {
    const headers = Object.fromEntries(
      Object.entries(raw).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
    )
    const decoded = decode(body, headers['content-encoding'])
    const text = decoded?.toString() ?? ''
    const exchange: Exchange = {
      request,
      answer: {
        status,
        headers: this.#redacted(
          Object.fromEntries(Object.entries(headers).filter(([name]) => shownHeaders.test(name))),
        ),
        body: decoded ? this.#shortened(text) : `${body.length} bytes that do not decompress`,
      },
    }
    this.last = exchange
    return { status, headers, text, json: readJson(text), exchange }
  }

  #redacted(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, this.credentials.redact(value)]),
    )
  }

  #shortened(text: string): string {
    const redacted = this.credentials.redact(text)
    if (redacted.length <= maxShown) return redacted
    return `${redacted.slice(0, maxShown)}… (${text.length} characters)`
  }
}

const staleConnection = Symbol('a connection that the server has closed')

/** More than checks run at once: those with eight writers and as many readers must not wait for a connection. */
const maxConnections = 40

function agentFor(url: string): HttpAgent {
  const options = { keepAlive: true, maxSockets: maxConnections }
  return url.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options)
}

/** `undefined` if the bytes are not what `encoding` says. */
function decode(body: Buffer, encoding = 'identity'): Buffer | undefined {
  try {
    if (encoding === 'gzip') return gunzipSync(body)
    if (encoding === 'br') return brotliDecompressSync(body)
    return encoding === 'deflate' ? inflateSync(body) : body
  } catch {
    return undefined
  }
}

function sentence(error: unknown): string {
  const code = codeOf(error)
  const { message } = toError(error)
  const texts: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'Nobody listens at this address.',
    ENOTFOUND: 'The name of the host is unknown.',
    ECONNRESET: 'The server broke the connection.',
  }
  return texts[String(code)] ?? (message || String(code))
}
