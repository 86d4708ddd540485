import { toError } from '../base/errors.ts'
import { harmless, type Logger, silentLogger } from '../base/logger.ts'
import {
  badRequest,
  breakOff,
  dropRest,
  type Incoming,
  type Outgoing,
  sendResponse,
  toRequest,
} from './node-http.ts'
import type { SyncService } from './service.ts'

/** Answers a request of Node's, by HTTP/1 or HTTP/2, or of what is built on it, as Express is. */
export type NodeHandler = (incoming: Incoming, outgoing: Outgoing) => Promise<void>

/** What puts `service` into a server of Node's. It is to come before anything that reads bodies. It never rejects. */
export function nodeHandler(
  service: Pick<SyncService, 'fetch'>,
  { logger = silentLogger }: { readonly logger?: Logger } = {},
): NodeHandler {
  return async (incoming, outgoing) => {
    try {
      const request = toRequest(incoming)
      await sendResponse(request ? await service.fetch(request) : badRequest(), outgoing)
      dropRest(incoming)
    } catch (error) {
      // The client went away, or the answer broke off: there is nobody left to tell.
      harmless(logger).debug('A connection ended early.', { reason: toError(error).message })
      breakOff(outgoing)
    }
  }
}
