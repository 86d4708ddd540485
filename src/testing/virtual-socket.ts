import { Disposer } from '../base/disposer.ts'
import type { WebSocketLike } from '../base/environment.ts'
import type { ServerSocket } from '../server/realtime/server-socket.ts'
import { Timers } from './timers.ts'

/** The part of the network that a socket pair uses. */
export interface Wire {
  readonly latencyMs: number
  readonly state: 'up' | 'cut' | 'black hole'
}

/** The time that either end waits for the response to its close frame, in ms. */
const closeTimeoutMs = 30_000

const abnormal = 1006

const encoder = new TextEncoder()

/** One WebSocket: the client's end and the server's end. */
export class SocketPair {
  readonly client: ClientEnd
  readonly #server: ServerEnd
  readonly #wire: Wire
  readonly #timers: Timers
  /** The messages in transit. */
  readonly #transit: Timers
  readonly #onGone: () => void
  readonly #timeouts = new Disposer()
  #lost: boolean
  #lastArrival = 0

  constructor(client: ClientEnd, wire: Wire, timers: Timers, onGone: () => void) {
    this.client = client
    this.#wire = wire
    this.#timers = timers
    this.#transit = new Timers(timers)
    this.#onGone = onGone
    this.#lost = wire.state === 'black hole'
    this.#server = new ServerEnd(this)
  }

  /** The number of messages in transit, including those of the handshakes. */
  get inTransit(): number {
    return this.#transit.size
  }

  open(upgrade: () => Promise<Response | ((socket: ServerEnd) => void)>): void {
    if (this.#wire.state === 'cut') {
      this.#transit.after(0, () => this.kill())
      return
    }
    this.carry(async () => {
      const accept = await upgrade().catch(() => undefined)
      if (this.client.readyState > 1) return
      if (typeof accept !== 'function') return this.carry(() => this.kill())
      this.carry(() => this.client.opened())
      accept(this.#server)
    })
  }

  /** Drops all further messages in both directions, without notifying either end. */
  lose(): void {
    this.#lost = true
  }

  kill(): void {
    this.#lost = true
    this.#transit.clear()
    this.#timeouts.dispose()
    this.client.closed(abnormal, '')
    this.#server.closed(abnormal)
    this.#onGone()
  }

  /** Calls `arrive` at the other end, after all earlier messages have arrived. */
  carry(arrive: () => void): void {
    const now = this.#timers.now()
    this.#lastArrival = Math.max(this.#lastArrival, now + this.#wire.latencyMs)
    this.#transit.after(this.#lastArrival - now, () => {
      if (!this.#lost && this.#wire.state === 'up') arrive()
    })
  }

  toClient(data: string, arrived: () => void): void {
    this.carry(() => {
      arrived()
      this.client.message(data)
    })
  }

  /** Performs the closing handshake that the client begins (RFC 6455, section 7). */
  closeFromClient(code: number): void {
    this.#timeouts.add(this.#timers.after(closeTimeoutMs, () => this.#end(abnormal, '')))
    this.carry(() => {
      this.#server.closed(code)
      this.carry(() => {
        this.#timeouts.dispose()
        this.#end(code, '')
      })
    })
  }

  /** Performs the closing handshake that the server begins. */
  closeFromServer(code: number, reason: string): void {
    this.#timeouts.add(this.#timers.after(closeTimeoutMs, () => this.#server.closed(abnormal)))
    this.carry(() => {
      this.#end(code, reason)
      this.carry(() => {
        this.#timeouts.dispose()
        this.#server.closed(code)
      })
    })
  }

  #end(code: number, reason: string): void {
    this.client.closed(code, reason)
    this.#onGone()
  }
}

/** The object that `new WebSocket` returns to a client. */
export class ClientEnd implements WebSocketLike {
  readyState = 0
  onopen: WebSocketLike['onopen'] = null
  onmessage: WebSocketLike['onmessage'] = null
  onclose: WebSocketLike['onclose'] = null
  onerror: WebSocketLike['onerror'] = null
  readonly #pair: SocketPair

  constructor(dial: (client: ClientEnd) => SocketPair) {
    this.#pair = dial(this)
  }

  send(_data: string): void {
    if (this.readyState === 0) throw new DOMException('Still opening.', 'InvalidStateError')
    // The protocol has no message from client to server.
  }

  close(code = 1005, _reason = ''): void {
    const allowed = code === 1005 || code === 1000 || (code >= 3000 && code <= 4999)
    if (!allowed) throw new DOMException(`A client may not close with ${code}.`, 'InvalidAccessError')
    if (this.readyState >= 2) return
    const wasOpening = this.readyState === 0
    this.readyState = 2
    this.#pair.closeFromClient(wasOpening ? abnormal : code)
  }

  opened(): void {
    if (this.readyState !== 0) return
    this.readyState = 1
    this.onopen?.({})
  }

  message(data: string): void {
    if (this.readyState === 1) this.onmessage?.({ data })
  }

  closed(code: number, reason: string): void {
    if (this.readyState === 3) return
    this.readyState = 3
    if (code === abnormal) this.onerror?.({})
    this.onclose?.({ code, reason })
  }
}

/** The server's end of an accepted socket. */
export class ServerEnd implements ServerSocket {
  /** The bytes that were sent and have not arrived. In a black hole, the number only grows. */
  bufferedAmount = 0
  #open = true
  #closing = false
  readonly #listeners = new Set<(event: { readonly code: number }) => void>()
  readonly #pair: SocketPair

  constructor(pair: SocketPair) {
    this.#pair = pair
  }

  send(data: string): void {
    if (!this.#open || this.#closing) return
    const bytes = encoder.encode(data).byteLength
    this.bufferedAmount += bytes
    this.#pair.toClient(data, () => {
      this.bufferedAmount -= bytes
    })
  }

  close(code = 1005, reason = ''): void {
    if (this.#closing || !this.#open) return
    this.#closing = true
    this.#pair.closeFromServer(code, reason)
  }

  /** Ends the socket without a closing handshake. */
  terminate(): void {
    this.#pair.kill()
  }

  addEventListener(_type: 'close', listener: (event: { readonly code: number }) => void): void {
    this.#listeners.add(listener)
  }

  closed(code: number): void {
    if (!this.#open) return
    this.#open = false
    for (const listener of this.#listeners) listener({ code })
  }
}
