import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { resolveEnvironment } from '../base/environment.default.ts'
import type { Clock } from '../base/environment.ts'
import { toError } from '../base/errors.ts'
import { harmless, type Logger, silentLogger } from '../base/logger.ts'
import { unavailable } from './http/failure.ts'
import { badRequest, refusalOf, refuseUpgrade, toRequest } from './node-http.ts'
import { closeCodes, type ServerSocket } from './realtime/server-socket.ts'
import type { SyncService } from './service.ts'
import { takeUpgrades, type UpgradingServer } from './upgrades.ts'

/** A client sends nothing on its socket; what is longer than this closes it with 1009. In bytes. */
const maxMessageBytes = 4_096

/** How long the other side has to say that it heard of a close, in ms, before the connection ends without. */
const answerMs = 2_000

export interface AttachedSockets {
  /** Closes those that are open with 1012, and opens none any more. Those that say nothing to it end within 2 s. */
  close(): void
  /** Ends those that are still open, and requests for one that nothing is decided about, at once. */
  terminate(): void
}

/**
 * Opens the sockets of `service` on a server of Node's. Where others open sockets on it too, they get what is not for
 * the service. An upgrade to anything but a WebSocket is answered by the server as any other request.
 */
export function attachSockets(
  server: UpgradingServer,
  service: Pick<SyncService, 'path' | 'upgrade'>,
  options: { readonly logger?: Logger; readonly clock?: Clock } = {},
): AttachedSockets {
  const { logger = silentLogger, clock = resolveEnvironment().clock } = options
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes })
  const failed = (error: unknown) => {
    harmless(logger).debug('A socket failed.', { reason: toError(error).message })
  }
  const bytesOf = lastEncoded()
  const undecided = new Set<Duplex>()
  let isClosed = false
  const decide = async (incoming: IncomingMessage) => {
    const request = toRequest(incoming)
    const accept = request ? await service.upgrade(request) : badRequest()
    return isClosed ? refusalOf(unavailable('The server is stopping.', 1)) : accept
  }
  const upgrade = async (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', failed)
    undecided.add(socket)
    try {
      const accept = await decide(incoming)
      if (accept instanceof Response) return await refuseUpgrade(accept, socket)
      sockets.handleUpgrade(incoming, socket, head, (opened) => {
        opened.on('error', failed)
        accept(sharing(opened, bytesOf))
      })
    } catch (error) {
      failed(error)
      socket.destroy()
    } finally {
      undecided.delete(socket)
    }
  }
  const leave = takeUpgrades(server, {
    path: service.path,
    take: (incoming, socket, head) => void upgrade(incoming, socket, head),
  })
  return {
    close() {
      isClosed = true
      leave()
      for (const socket of sockets.clients) end(socket, clock)
    },
    terminate() {
      for (const socket of undecided) socket.destroy()
      for (const socket of sockets.clients) socket.terminate()
    },
  }
}

/** Encodes a text once, however many times it is asked one after the other: all sockets of an owner are sent the same. */
function lastEncoded(): (text: string) => Buffer {
  let last = ''
  let bytes = Buffer.alloc(0)
  return (text) => {
    if (text !== last) bytes = Buffer.from(text)
    last = text
    return bytes
  }
}

/** `socket`, in which what `bytesOf` gives waits, and no copy of its own. */
function sharing(socket: WebSocket, bytesOf: (text: string) => Buffer): ServerSocket {
  return {
    get bufferedAmount() {
      return socket.bufferedAmount
    },
    send: (text) => socket.send(bytesOf(text), { binary: false }),
    close: (code, reason) => socket.close(code, reason),
    addEventListener: (type, listener) => socket.addEventListener(type, listener),
  }
}

/** Closes `socket`, which ends soon whether the other side answers or not. */
function end(socket: WebSocket, clock: Clock): void {
  socket.close(closeCodes.restart, 'restart')
  socket.once(
    'close',
    clock.after(answerMs, () => socket.terminate()),
  )
}
