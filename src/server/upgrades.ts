import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Unsubscribe } from '../base/emitter.ts'

/** The part that is used of a Node server: one from `node:http`, `node:https` or `node:http2`. */
export type UpgradingServer = Pick<EventEmitter, 'on' | 'off' | 'listenerCount' | 'emit'> & {
  /** Newer versions of Node call it to decide whether a request is handled as an upgrade. */
  shouldUpgradeCallback?: (incoming: IncomingMessage) => boolean
}

/** The handler for the socket requests of one service. */
export interface UpgradeHandler {
  /** The path under which the endpoints are, like `/sync/v1`. */
  readonly path: string
  take(incoming: IncomingMessage, socket: Duplex, head: Buffer): void
}

/**
 * The maximum number of requests on one connection that are read again. Each costs more than a plain request. The last
 * one ends the connection.
 */
const maxReadAgain = 100

const gates = new WeakMap<UpgradingServer, UpgradeGate>()

/**
 * Lets `handler` handle the socket requests of its service on `server`, until the returned function is called. If nothing
 * else opens sockets on `server`, the first handler also gets the socket requests for unknown paths.
 */
export function takeUpgrades(server: UpgradingServer, handler: UpgradeHandler): Unsubscribe {
  const gate = gates.get(server) ?? new UpgradeGate(server)
  gates.set(server, gate)
  gate.add(handler)
  return () => gate.remove(handler)
}

/** Sorts the upgrade requests of one server: for one of the services, for other handlers, or not for a WebSocket. */
class UpgradeGate {
  readonly #server: UpgradingServer
  readonly #handlers = new Set<UpgradeHandler>()
  readonly #readAgain = new WeakMap<Duplex, number>()
  #unwatch: Unsubscribe = () => {}

  constructor(server: UpgradingServer) {
    this.#server = server
  }

  add(handler: UpgradeHandler): void {
    if (this.#handlers.size === 0) this.#unwatch = this.#watch()
    this.#handlers.add(handler)
  }

  remove(handler: UpgradeHandler): void {
    if (this.#handlers.delete(handler) && this.#handlers.size === 0) this.#unwatch()
  }

  #watch(): Unsubscribe {
    const server = this.#server
    const before = server.shouldUpgradeCallback
    const shouldUpgrade = (incoming: IncomingMessage) =>
      !this.#isIgnored(incoming) && before?.call(server, incoming) === true
    if (before) server.shouldUpgradeCallback = shouldUpgrade
    server.on('upgrade', this.#onUpgrade)
    return () => {
      server.off('upgrade', this.#onUpgrade)
      if (before && server.shouldUpgradeCallback === shouldUpgrade) server.shouldUpgradeCallback = before
    }
  }

  readonly #onUpgrade = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (this.#isIgnored(incoming)) {
      const count = 1 + (this.#readAgain.get(socket) ?? 0)
      this.#readAgain.set(socket, count)
      return answerPlainly(this.#server, incoming, socket, head, count >= maxReadAgain)
    }
    const path = pathOf(incoming)
    const [first] = this.#handlers
    const named = [...this.#handlers].find((handler) => path === `${handler.path}/ws`)
    const handler = named ?? (this.#isAlone ? first : undefined)
    handler?.take(incoming, socket, head)
  }

  /** Whether the request asks for an upgrade to anything but a WebSocket, and no other handler could know it. */
  #isIgnored(incoming: IncomingMessage): boolean {
    if (incoming.headers.upgrade?.toLowerCase() === 'websocket') return false
    const path = pathOf(incoming)
    return this.#isAlone || [...this.#handlers].some((handler) => path.startsWith(`${handler.path}/`))
  }

  get #isAlone(): boolean {
    return this.#server.listenerCount('upgrade') === 1
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?')[0] ?? ''
}

/**
 * Makes `server` read a request again without its `Upgrade` header: a server may ignore that header (RFC 9110, section
 * 7.8). So its body, and whatever follows on the connection, are read as usual. If the request `isLast`, nothing that
 * follows is read.
 */
function answerPlainly(
  server: UpgradingServer,
  incoming: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  isLast: boolean,
): void {
  const { method, url, httpVersion, rawHeaders } = incoming
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    const isDropped = name.toLowerCase() === 'upgrade' || (isLast && name.toLowerCase() === 'connection')
    if (!isDropped) lines.push(`${name}: ${value}`)
  }
  if (isLast) lines.push('Connection: close')
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  // With TLS, the event `connection` precedes the handshake. Requests are read after `secureConnection`.
  const isSecure = server.listenerCount('secureConnection') > 0
  server.emit(isSecure ? 'secureConnection' : 'connection', socket)
}
