import { resolveEnvironment } from '../base/environment.default.ts'
import { isSyncError, toError } from '../base/errors.ts'
import { type Logger, nonThrowing, silentLogger } from '../base/logger.ts'
import { pageHeaders } from './http/answer.ts'
import { Failure } from './http/failure.ts'
import {
  abortResponse,
  badRequest,
  discardBody,
  failureResponse,
  type Incoming,
  isLongUnread,
  type Outgoing,
  sendLast,
  sendResponse,
  toRequest,
} from './node-http.ts'
import type { SyncService } from './service.ts'

/**
 * Answers a request of Node, by HTTP/1 or HTTP/2. Frameworks that build on these, such as Express, can call it, too.
 */
export type NodeHandler = (incoming: Incoming, outgoing: Outgoing) => Promise<void>

/**
 * Returns a handler that serves `service` in a server of Node. Mount it before anything that reads request bodies. The
 * handler never rejects. If the body of a transaction was read before, it answers with 500, and the client keeps the
 * transaction.
 */
export function nodeHandler(
  service: Pick<SyncService, 'fetch'>,
  { logger = silentLogger }: { readonly logger?: Logger } = {},
): NodeHandler {
  const { clock } = resolveEnvironment()
  const answer = async (incoming: Incoming, outgoing: Outgoing) => {
    const controller = new AbortController()
    outgoing.once('close', () => controller.abort())
    const request = toRequest(incoming, controller.signal)
    if (!request) return badRequest()
    try {
      return await service.fetch(request)
    } catch (error) {
      const what = 'The service cannot answer; its log says why.'
      const { message } = toError(error)
      nonThrowing(logger).error(what, { reason: message })
      // Show a configuration error in the response, also to a page, so that the developer who sets up the service sees
      // it.
      const shown = isSyncError(error, 'ConfigurationError') ? message : what
      const isPreflight = request.method === 'OPTIONS'
      // A page cannot read the response of a request whose preflight failed.
      const response = isPreflight
        ? new Response(null, { status: 204, headers: { 'Access-Control-Allow-Headers': pageHeaders.join() } })
        : failureResponse(new Failure(500, 'internal', shown))
      response.headers.set('Access-Control-Allow-Origin', '*')
      return response
    }
  }
  return async (incoming, outgoing) => {
    try {
      const response = await answer(incoming, outgoing)
      if (isLongUnread(incoming)) return await sendLast(response, incoming, outgoing, clock)
      discardBody(incoming)
      await sendResponse(response, outgoing)
    } catch (error) {
      // The client disconnected, or reading the body failed: no response can be sent.
      nonThrowing(logger).debug('A connection ended early.', { reason: toError(error).message })
      abortResponse(outgoing)
    }
  }
}
