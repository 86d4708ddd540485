import { resolveEnvironment } from '../base/environment.default.ts'
import { isSyncError, toError } from '../base/errors.ts'
import { type Logger, nonThrowing, silentLogger } from '../base/logger.ts'
import { Admission } from './admission.ts'
import { pageHeaders } from './http/answer.ts'
import { Failure } from './http/failure.ts'
import {
  abortResponse,
  badRequest,
  credentialsOf,
  discardBody,
  failureResponse,
  type Incoming,
  isLongUnread,
  type Outgoing,
  pathOf,
  refusedResponse,
  sendLast,
  sendRefusal,
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
  service: Pick<SyncService, 'fetch'> & Partial<Pick<SyncService, 'healthPath'>>,
  { logger = silentLogger }: { readonly logger?: Logger } = {},
): NodeHandler {
  const { clock } = resolveEnvironment()
  const { healthPath = '/healthz' } = service
  const admission = new Admission(clock)
  const mayBegin = (incoming: Incoming) => {
    const neverWaits = incoming.method === 'OPTIONS' || pathOf(incoming) === healthPath
    return neverWaits || admission.enter(credentialsOf(incoming))
  }
  const answer = async (incoming: Incoming, signal: AbortSignal) => {
    const request = toRequest(incoming, signal)
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
    const gone = new AbortController()
    // After a response, nothing is left to abort.
    outgoing.once('close', () => outgoing.writableEnded || gone.abort())
    try {
      const isAdmitted = await mayBegin(incoming)
      if (gone.signal.aborted) return
      if (!isAdmitted && !isLongUnread(incoming)) {
        discardBody(incoming)
        return sendRefusal(outgoing)
      }
      const response = isAdmitted ? await answer(incoming, gone.signal) : refusedResponse()
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
