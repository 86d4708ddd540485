import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Unsubscribe } from '../base/emitter.ts'

/** What is needed of a server of Node's, be it of `node:http`, `node:https` or `node:http2`. */
export type UpgradingServer = Pick<EventEmitter, 'on' | 'off' | 'listenerCount' | 'emit'> & {
  /** What newer versions of Node ask before they take a request for an upgrade. */
  shouldUpgradeCallback?: (incoming: IncomingMessage) => boolean
}

/** Who takes the requests for sockets of one service. */
export interface Door {
  /** Where its endpoints are, as in `/sync/v1`. */
  readonly path: string
  take(incoming: IncomingMessage, socket: Duplex, head: Buffer): void
}

const gates = new WeakMap<UpgradingServer, UpgradeGate>()

/**
 * Has `door` take the requests for sockets of its service on `server`, until the result is called. Where nobody else
 * opens sockets there, the first door takes those at no path too.
 */
export function takeUpgrades(server: UpgradingServer, door: Door): Unsubscribe {
  const gate = gates.get(server) ?? new UpgradeGate(server)
  gates.set(server, gate)
  gate.add(door)
  return () => gate.remove(door)
}

/** Tells apart, for all services on one server, what is for them, for others, and no request for a socket. */
class UpgradeGate {
  readonly #server: UpgradingServer
  readonly #doors = new Set<Door>()
  #unwatch: Unsubscribe = () => {}

  constructor(server: UpgradingServer) {
    this.#server = server
  }

  add(door: Door): void {
    if (this.#doors.size === 0) this.#unwatch = this.#watch()
    this.#doors.add(door)
  }

  remove(door: Door): void {
    if (this.#doors.delete(door) && this.#doors.size === 0) this.#unwatch()
  }

  #watch(): Unsubscribe {
    const server = this.#server
    const asked = server.shouldUpgradeCallback
    const ask = (incoming: IncomingMessage) =>
      !this.#isIgnored(incoming) && asked?.call(server, incoming) === true
    if (asked) server.shouldUpgradeCallback = ask
    server.on('upgrade', this.#onUpgrade)
    return () => {
      server.off('upgrade', this.#onUpgrade)
      if (asked && server.shouldUpgradeCallback === ask) server.shouldUpgradeCallback = asked
    }
  }

  readonly #onUpgrade = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (this.#isIgnored(incoming)) return answerPlainly(this.#server, incoming, socket, head)
    const path = pathOf(incoming)
    const [first] = this.#doors
    const own = [...this.#doors].find((door) => path === `${door.path}/ws`)
    const door = own ?? (this.#isAlone ? first : undefined)
    door?.take(incoming, socket, head)
  }

  /** An upgrade to anything but a WebSocket, which only others could know. */
  #isIgnored(incoming: IncomingMessage): boolean {
    if (incoming.headers.upgrade?.toLowerCase() === 'websocket') return false
    const path = pathOf(incoming)
    return this.#isAlone || [...this.#doors].some((door) => path.startsWith(`${door.path}/`))
  }

  get #isAlone(): boolean {
    return this.#server.listenerCount('upgrade') === 1
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?')[0] ?? ''
}

/**
 * Has `server` read a request once more, as one that asks for no upgrade: a server may ignore that (RFC 9110, section
 * 7.8). So its body, and what comes behind it on the connection, are read as those of any other.
 */
function answerPlainly(
  server: UpgradingServer,
  incoming: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const { method, url, httpVersion, rawHeaders } = incoming
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  // With TLS, `connection` is where it begins, and requests are read after it.
  const isSecure = server.listenerCount('secureConnection') > 0
  server.emit(isSecure ? 'secureConnection' : 'connection', socket)
}
