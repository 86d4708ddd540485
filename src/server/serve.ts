import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Check, check, refuseUnknown } from '../base/check-options.ts'
import { resolveEnvironment } from '../base/environment.default.ts'
import type { Clock } from '../base/environment.ts'
import { wrongOption } from '../base/errors.ts'
import { type Logger, silentLogger } from '../base/logger.ts'
import { attachSockets } from './attach-sockets.ts'
import { nodeHandler } from './node-handler.ts'
import type { SyncService } from './service.ts'

/**
 * How long an idle connection stays open, in ms: longer than a proxy keeps it open. Otherwise, the proxy could send a
 * request while the connection is being closed.
 */
const keepAliveMs = 75_000

/**
 * How many connections may wait to be accepted; the system may allow fewer. Beyond that, a client that connects hears
 * nothing and tries again after 1, 3 and 7 s.
 */
const maxUnaccepted = 4_096

const isGrace: Check = [(value) => typeof value === 'number' && value >= 0, 'a number of ms, 0 or more']

export interface ServeOptions {
  /** The port to listen on. 0 takes any free port. */
  readonly port: number
  /** The address to listen on. An IPv6 address may be in brackets, as in URLs. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** How long `close` waits for requests and sockets to end, in ms. @default 2_000 */
  readonly graceMs?: number | undefined
  readonly logger?: Logger | undefined
  readonly clock?: Clock | undefined
}

export interface RunningServer {
  /** The base URL for a client, like `http://127.0.0.1:8080/sync/v1`. */
  readonly url: string
  /**
   * Closes sockets with code 1012, waits for running requests and stops listening. Resolves after at most about
   * `graceMs`. The service stays open. Further calls return the same promise.
   */
  close(): Promise<void>
}

/**
 * Serves `service` on Node, by HTTP and by WebSocket (package `ws`). Resolves once it listens. Rejects if the port
 * cannot be used or a package is missing, and with a ConfigurationError for an invalid option.
 */
export async function serve(service: SyncService, options: ServeOptions): Promise<RunningServer> {
  const {
    port,
    host = '127.0.0.1',
    graceMs = 2_000,
    logger = silentLogger,
    clock = resolveEnvironment().clock,
  } = options
  refuseUnknown(options, { port, host, graceMs, logger, clock })
  check('graceMs', graceMs, isGrace)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw wrongOption('port', 'must be an integer from 0 to 65535.')
  }
  await service.ready()
  let closing: Promise<void> | undefined
  const fetch = async (request: Request) => {
    const response = await service.fetch(request)
    if (!closing) return response
    const last = new Response(response.body, response)
    last.headers.set('Connection', 'close')
    return last
  }
  let isClosingIdle = false
  /** Once for all responses that end in one turn: it looks at all connections. */
  const closeIdle = async () => {
    if (isClosingIdle) return
    isClosingIdle = true
    await clock.pause()
    isClosingIdle = false
    server.closeIdleConnections()
  }
  const handle = nodeHandler({ fetch, healthPath: service.healthPath }, { logger })
  const server = createServer((incoming, outgoing) => {
    outgoing.once('close', () => {
      // The connection was not idle while this response was being sent, so `server.close` did not close it.
      if (closing) void closeIdle()
    })
    void handle(incoming, outgoing)
  })
  server.keepAliveTimeout = keepAliveMs
  const sockets = attachSockets(server, service, { logger, clock })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host: host.replace(/^\[(.*)\]$/, '$1'), backlog: maxUnaccepted }, resolve)
  })

  const close = () =>
    new Promise<void>((resolve) => {
      sockets.close()
      const cancel = clock.after(graceMs, () => {
        sockets.terminate()
        server.closeAllConnections()
      })
      server.close(() => {
        cancel()
        resolve()
      })
    })
  return {
    url: `http://${addressOf(server.address() as AddressInfo)}${service.path}`,
    close: () => (closing ??= close()),
  }
}

function addressOf({ address, family, port }: AddressInfo): string {
  return `${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
