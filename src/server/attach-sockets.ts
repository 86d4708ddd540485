import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { resolveEnvironment } from '../base/environment.default.ts'
import type { Clock } from '../base/environment.ts'
import { toError } from '../base/errors.ts'
import { type Logger, nonThrowing, silentLogger } from '../base/logger.ts'
import { Admission } from './admission.ts'
import { unavailable } from './http/failure.ts'
import {
  badRequest,
  credentialsOf,
  failureResponse,
  refusedResponse,
  refuseUpgrade,
  toRequest,
} from './node-http.ts'
import { closeCodes, type ServerSocket } from './realtime/server-socket.ts'
import type { SyncService } from './service.ts'
import { takeUpgrades, type UpgradingServer } from './upgrades.ts'

/** The maximum length of a message, in bytes. Clients send none; a longer one closes the socket with 1009. */
const maxMessageBytes = 4_096

/** How long the client may take to confirm a close, in ms, before the connection is cut. */
const answerMs = 2_000

export interface AttachedSockets {
  /**
   * Closes open sockets with code 1012 and refuses new ones. A socket whose client does not confirm the close ends
   * after 2 s.
   */
  close(): void
  /** Cuts all open sockets, and all requests for a socket that are not decided yet. */
  terminate(): void
}

/**
 * Opens the sockets of `service` on a server of Node; one of `node:http2` needs `allowHTTP1: true`. Other handlers for
 * upgrades on the same server get the requests that are not for the service, and must leave the service's to it: create a
 * `WebSocketServer` of `ws` with `noServer`, since it refuses every path but its own. Without other handlers, such requests
 * are refused. A request for an upgrade to anything but a WebSocket is answered like a plain HTTP request.
 */
export function attachSockets(
  server: UpgradingServer,
  service: Pick<SyncService, 'path' | 'upgrade'>,
  options: { readonly logger?: Logger; readonly clock?: Clock } = {},
): AttachedSockets {
  const { logger = silentLogger, clock = resolveEnvironment().clock } = options
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes })
  const failed = (error: unknown) => {
    nonThrowing(logger).debug('A socket failed.', { reason: toError(error).message })
  }
  const bytesOf = lastEncoded()
  const undecided = new Set<Duplex>()
  let isClosed = false
  const admission = new Admission(clock)
  const decide = async (incoming: IncomingMessage, socket: Duplex) => {
    if (!(await admission.enter(credentialsOf(incoming)))) return refusedResponse()
    if (socket.destroyed) throw new Error('The client has gone.')
    const request = toRequest(incoming)
    const accept = request ? await service.upgrade(request) : badRequest()
    return isClosed ? failureResponse(unavailable('The server is stopping.', 1)) : accept
  }
  const upgrade = async (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', failed)
    undecided.add(socket)
    try {
      const accept = await decide(incoming, socket)
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
  const stopTaking = takeUpgrades(server, {
    path: service.path,
    take: (incoming, socket, head) => void upgrade(incoming, socket, head),
  })
  return {
    close() {
      isClosed = true
      stopTaking()
      for (const socket of sockets.clients) end(socket, clock)
    },
    terminate() {
      for (const socket of undecided) socket.destroy()
      for (const socket of sockets.clients) socket.terminate()
    },
  }
}

/**
 * Encodes a text, and reuses the bytes if the next text is the same: all sockets of an owner are sent the same text.
 */
function lastEncoded(): (text: string) => Buffer {
  let last = ''
  let bytes = Buffer.alloc(0)
  return (text) => {
    if (text !== last) bytes = Buffer.from(text)
    last = text
    return bytes
  }
}

/**
 * Wraps `socket` so that all sockets share the bytes that `bytesOf` returns. Otherwise, each socket would hold a copy
 * of the bytes that are not sent yet.
 */
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

/** Closes `socket`, and cuts the connection if the client does not confirm the close in time. */
function end(socket: WebSocket, clock: Clock): void {
  socket.close(closeCodes.restart, 'restart')
  socket.once(
    'close',
    clock.after(answerMs, () => socket.terminate()),
  )
}
