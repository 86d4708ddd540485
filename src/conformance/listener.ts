import { WebSocket } from 'ws'
import type { Clock } from '../base/environment.ts'
import { readJson } from '../protocol/json.ts'
import type { As } from './credentials.ts'
import type { Exchange } from './exchange.ts'
import type { Wire } from './wire.ts'

/** A message that came on a socket. */
export interface Message {
  /** In ms since the epoch. */
  readonly at: number
  /** `undefined` if the message is binary. */
  readonly text: string | undefined
  /** `undefined` if the message is binary, or not JSON. */
  readonly json: unknown
}

export interface OpenOptions {
  /** @default 'token' */
  readonly as?: As
  /** The place of the token. `both`: the token of `as` in the header, and that of `queryAs` in the query. @default 'query' */
  readonly where?: 'header' | 'query' | 'both'
  readonly queryAs?: As
}

/** The result of a request for a socket. */
export interface Opening {
  /** 101 if it is open; otherwise the status of the refusal, or 0 if there was no response. */
  readonly status: number
  readonly listener: Listener | undefined
  readonly exchange: Exchange
}

/** An open socket, and all that has come on it. */
export class Listener {
  readonly messages: Message[] = []
  /** The code with which the socket was closed. */
  closed: number | undefined
  readonly exchange: Exchange
  readonly #socket: WebSocket
  readonly #clock: Clock
  readonly #redact: (text: string) => string
  readonly #waiting = new Set<() => void>()

  constructor(socket: WebSocket, clock: Clock, exchange: Exchange, redact: (text: string) => string) {
    this.#socket = socket
    this.#clock = clock
    this.exchange = exchange
    this.#redact = redact
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      const text = isBinary ? undefined : data.toString()
      this.messages.push({ at: clock.now(), text, json: readJson(text) })
      this.#notify()
    })
    socket.on('close', (code: number) => {
      this.closed = code
      this.#notify()
    })
    socket.on('error', () => {})
  }

  /** Resolves with the first result of `find` that is not `undefined`, or with `undefined` after `ms`. */
  until<T>(ms: number, find: () => T | undefined): Promise<T | undefined> {
    return new Promise((resolve) => {
      const end = (found: T | undefined) => {
        this.#waiting.delete(look)
        cancel()
        resolve(found)
      }
      const look = () => {
        const found = find()
        if (found !== undefined || this.closed !== undefined) end(found)
      }
      const cancel = this.#clock.after(ms, () => end(find()))
      this.#waiting.add(look)
      look()
    })
  }

  /** The request for the socket, with `message` as its answer. */
  shown(message: Message | undefined): Exchange {
    const { request } = this.exchange
    if (!message) return { request, answer: undefined, failure: 'No such message came on the socket.' }
    const body = message.text === undefined ? 'a binary message' : this.#redact(message.text.slice(0, 1_500))
    return { request, answer: { status: 101, headers: {}, body } }
  }

  close(): void {
    this.#socket.terminate()
  }

  #notify(): void {
    for (const look of [...this.#waiting]) look()
  }
}

/** Asks for a socket. Resolves in any case, after the time limit of a request at the latest. */
export function openSocket(
  wire: Wire,
  { as = 'token', where = 'query', queryAs = as }: OpenOptions,
): Promise<Opening> {
  const { credentials, clock, requestMs } = wire
  const query =
    where === 'header' || queryAs === 'none'
      ? ''
      : `?token=${encodeURIComponent(credentials.textOf(queryAs))}`
  const path = `/ws${query}`
  const headers = where === 'query' ? {} : credentials.headersOf(as)
  const request = wire.shown({ path }, headers)
  return new Promise((resolve) => {
    const socket = new WebSocket(`${wire.url}${path}`.replace(/^http/, 'ws'), { headers })
    const exchange = (status: number, failure?: string): Exchange => ({
      request,
      answer: status === 0 ? undefined : { status, headers: {}, body: '' },
      ...(failure === undefined ? undefined : { failure }),
    })
    const end = (opening: Opening) => {
      cancel()
      wire.last = opening.exchange
      resolve(opening)
    }
    const refused = (status: number, failure?: string) => {
      socket.terminate()
      end({ status, listener: undefined, exchange: exchange(status, failure) })
    }
    const cancel = clock.after(requestMs, () =>
      refused(0, `The socket did not open within ${requestMs / 1_000} s.`),
    )
    const listener = new Listener(socket, clock, exchange(101), (text) => credentials.redact(text))
    socket.on('unexpected-response', (_, incoming) => refused(incoming.statusCode ?? 0))
    socket.on('error', ({ message }) => refused(0, credentials.redact(message)))
    socket.on('open', () => end({ status: 101, listener, exchange: exchange(101) }))
    wire.onEnd(() => socket.terminate())
  })
}
