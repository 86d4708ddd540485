import type { Unsubscribe } from '../base/emitter.ts'
import type { Clock, Fetch, WebSocketConstructor } from '../base/environment.ts'
import { onAbort } from '../base/on-abort.ts'
import { Timers } from './timers.ts'
import { ClientEnd, type ServerEnd, SocketPair } from './virtual-socket.ts'

/**
 * The server of a virtual network: the virtual mount of a bare server, or Instep's service. If either call rejects, the
 * connection is refused.
 */
export interface VirtualServer {
  fetch(request: Request): Promise<Response>
  /** Resolves with the response that refuses a socket, or with a function that accepts the server's end. */
  upgrade(request: Request): Promise<Response | ((socket: ServerEnd) => void)>
}

export interface VirtualNetworkOptions {
  readonly clock: Clock
  readonly server: VirtualServer
  /** The time that a message takes one way, in ms. @default 20 */
  readonly latencyMs?: number
}

/**
 * The network between one device and one server, in virtual time. `up`: all messages arrive, in order. `cut`: all
 * requests and sockets fail at once. `black hole`: nothing arrives and nothing fails.
 */
export class VirtualNetwork {
  latencyMs: number
  /** The additional time that each chunk of a body takes, in ms. */
  chunkMs = 0
  #server: VirtualServer
  readonly #timers: Timers
  #state: 'up' | 'cut' | 'black hole' = 'up'
  readonly #calls = new Set<AbortController>()
  readonly #sockets = new Set<SocketPair>()

  constructor({ clock, server, latencyMs = 20 }: VirtualNetworkOptions) {
    this.#timers = new Timers(clock)
    this.#server = server
    this.latencyMs = latencyMs
  }

  get state(): 'up' | 'cut' | 'black hole' {
    return this.#state
  }

  /** The number of current requests, including those whose body is still in transit. */
  get calls(): number {
    return this.#calls.size
  }

  /** The number of sockets that are open or opening. */
  get sockets(): number {
    return this.#sockets.size
  }

  /** Whether a message of a socket is in transit. */
  get busy(): boolean {
    return [...this.#sockets].some(({ inTransit }) => inTransit > 0)
  }

  /** Connects to another server. Open requests and sockets stay with the old server. */
  use(server: VirtualServer): void {
    this.#server = server
  }

  /** Fails all current requests and sockets, and all further ones until `mend`. */
  cut(): void {
    this.#state = 'cut'
    for (const call of this.#calls) call.abort(new TypeError('fetch failed'))
    this.#calls.clear()
    this.killSockets()
  }

  /**
   * Drops all messages until `mend`. Open sockets stay dead after `mend`, as if a router had forgotten the connection.
   */
  blackHole(): void {
    this.#state = 'black hole'
    for (const socket of this.#sockets) socket.lose()
  }

  mend(): void {
    this.#state = 'up'
  }

  /** Ends every socket on both sides, without a closing handshake. */
  killSockets(): void {
    for (const socket of [...this.#sockets]) socket.kill()
  }

  /** Ends all requests, sockets and timers for good. */
  close(): void {
    this.cut()
    this.#timers.clear()
  }

  readonly fetch: Fetch = async (url, init) => {
    const { signal, ...rest } = init
    const call = new AbortController()
    const undo = onAbort(signal, () => call.abort(signal?.reason))
    this.#calls.add(call)
    const done = () => {
      undo()
      this.#calls.delete(call)
    }
    try {
      const response = await this.#exchange(new Request(url, rest), call.signal)
      if (response.body === null) done()
      return new Response(response.body && this.#relay(response.body, call.signal, done), response)
    } catch (error) {
      done()
      throw error
    }
  }

  /** Creates a WebSocket class that uses this network. */
  webSocket({ sendsHeaders = false } = {}): WebSocketConstructor {
    const dial = (client: ClientEnd, url: string, headers: Record<string, string>) => {
      const request = new Request(url.replace(/^ws/, 'http'), { headers })
      const pair = new SocketPair(client, this, this.#timers, () => this.#sockets.delete(pair))
      this.#sockets.add(pair)
      pair.open(() => this.#server.upgrade(request))
      return pair
    }
    return class extends ClientEnd {
      static readonly sendsHeaders = sendsHeaders

      constructor(
        url: string,
        _protocols?: string[],
        options?: { headers: Readonly<Record<string, string>> },
      ) {
        super((client) => dial(client, url, sendsHeaders ? { ...options?.headers } : {}))
      }
    }
  }

  async #exchange(request: Request, signal: AbortSignal): Promise<Response> {
    await this.#travel(this.latencyMs, signal)
    // A client cannot see why a server does not respond.
    const answer = this.#server.fetch(request).catch((cause: unknown) => {
      throw new TypeError('fetch failed', { cause })
    })
    const response = await abortable(answer, signal)
    await this.#travel(this.latencyMs, signal)
    const location = response.headers.get('location')
    if (location === null || response.status < 300 || response.status > 399) return response
    if (request.redirect === 'manual') return response
    if (request.redirect === 'error') throw new TypeError('fetch failed')
    return this.#exchange(new Request(new URL(location, request.url)), signal)
  }

  /** Resolves when a message has arrived. Stays pending if the message goes into a black hole. */
  async #travel(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#state === 'cut') throw new TypeError('fetch failed')
    const lost = this.#state === 'black hole'
    let cancel: Unsubscribe = () => {}
    const arrived = new Promise<void>((resolve) => {
      cancel = this.#timers.after(ms, () => {
        if (!lost && this.#state === 'up') resolve()
      })
    })
    await abortable(arrived, signal).finally(cancel)
  }

  #relay(body: ReadableStream<Uint8Array>, signal: AbortSignal, done: () => void) {
    const reader = body.getReader()
    const end = (reason: unknown) => {
      done()
      // End the server's side of the body, too. Errors of the server do not matter here.
      reader.cancel(reason).catch(() => {})
    }
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      try {
        const next = await abortable(reader.read(), signal)
        if (this.chunkMs > 0 || this.#state !== 'up') await this.#travel(this.chunkMs, signal)
        if (!next.done) return controller.enqueue(next.value)
        done()
        controller.close()
      } catch (error) {
        end(error)
        throw error
      }
    }
    // Read nothing ahead, so that each chunk starts when the client asks for it.
    return new ReadableStream<Uint8Array>({ pull, cancel: end }, { highWaterMark: 0 })
  }
}

/** Settles as `promise` does, or rejects with the signal's reason. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const undo = onAbort(signal, () => reject(signal.reason))
    promise.then(resolve, reject).finally(undo)
  })
}
