import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { toError } from '../base/errors.ts'
import { type Logger, silentLogger } from '../base/logger.ts'
import { resolveWorld } from '../base/world.default.ts'
import type { Clock } from '../base/world.ts'
import { dropRest, refuseUpgrade, sendResponse, toRequest } from './node-http.ts'
import { closeCodes } from './realtime/server-socket.ts'
import type { SyncService } from './service.ts'

/** A client sends nothing on its socket; what is longer than this closes it with 1009. In bytes. */
const maxMessageBytes = 4_096

export interface ServeOptions {
  /** 0 takes one that is free. */
  readonly port: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** How long requests and sockets have to end when it closes, in ms. @default 2_000 */
  readonly graceMs?: number
  readonly logger?: Logger
  readonly clock?: Clock
}

export interface Served {
  /** The base address for a client, as in `http://127.0.0.1:8080/sync/v1`. */
  readonly url: string
  /** Ends sockets with 1012, lets requests end, and stops listening. The service stays open. Safe to call again. */
  close(): Promise<void>
}

/** Puts `service` on Node: HTTP, and WebSocket by `ws`. Rejects where the port cannot be had, or a package is missing. */
export async function serve(service: SyncService, options: ServeOptions): Promise<Served> {
  const {
    port,
    host = '127.0.0.1',
    graceMs = 2_000,
    logger = silentLogger,
    clock = resolveWorld().clock,
  } = options
  await service.ready()
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes })

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    try {
      await sendResponse(await service.fetch(toRequest(incoming)), outgoing)
      dropRest(incoming)
    } catch (error) {
      // The client went away, the answer broke off, or the address is none: there is nobody left to tell.
      logger.debug('A connection ended early.', { reason: toError(error).message })
      outgoing.destroy()
    }
  }
  const upgrade = async (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const failed = (error: unknown) => {
      logger.debug('A socket failed.', { reason: toError(error).message })
    }
    socket.on('error', failed)
    try {
      const accept = await service.upgrade(toRequest(incoming))
      if (accept instanceof Response) return await refuseUpgrade(accept, socket)
      sockets.handleUpgrade(incoming, socket, head, (opened) => {
        opened.on('error', failed)
        accept(opened)
      })
    } catch (error) {
      failed(error)
      socket.destroy()
    }
  }
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing))
  server.on('upgrade', (incoming, socket, head) => void upgrade(incoming, socket, head))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })

  let closing: Promise<void> | undefined
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets.clients) socket.close(closeCodes.restart, 'restart')
      const cancel = clock.after(graceMs, () => {
        for (const socket of sockets.clients) socket.terminate()
        server.closeAllConnections()
      })
      server.close(() => {
        cancel()
        resolve()
      })
      server.closeIdleConnections()
    })
  return {
    url: `http://${addressOf(server.address() as AddressInfo)}${service.path}`,
    close: () => (closing ??= close()),
  }
}

function addressOf({ address, family, port }: AddressInfo): string {
  return `${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
