import { isSyncError, toError } from '../base/errors.ts'
import { harmless, type Logger, silentLogger } from '../base/logger.ts'
import { pageHeaders } from './http/answer.ts'
import { Failure } from './http/failure.ts'
import {
  badRequest,
  breakOff,
  dropRest,
  type Incoming,
  type Outgoing,
  refusalOf,
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
  const answer = async (incoming: Incoming) => {
    const request = toRequest(incoming)
    if (!request) return badRequest()
    try {
      return await service.fetch(request)
    } catch (error) {
      const what = 'The service cannot answer.'
      const { message } = toError(error)
      harmless(logger).error(what, { reason: message })
      // What is set up wrongly is for whoever tries it first to read, in a page too.
      const told = isSyncError(error, 'ConfigurationError') ? message : what
      const isPreflight = request.method === 'OPTIONS'
      // A page reads nothing where its preflight fails.
      const response = isPreflight
        ? new Response(null, { status: 204, headers: { 'Access-Control-Allow-Headers': pageHeaders.join() } })
        : refusalOf(new Failure(500, 'internal', told))
      response.headers.set('Access-Control-Allow-Origin', '*')
      return response
    }
  }
  return async (incoming, outgoing) => {
    try {
      const response = await answer(incoming)
      dropRest(incoming)
      await sendResponse(response, outgoing)
    } catch (error) {
      // The client went away, or the answer broke off: there is nobody left to tell.
      harmless(logger).debug('A connection ended early.', { reason: toError(error).message })
      breakOff(outgoing)
    }
  }
}
