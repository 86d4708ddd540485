import { isSyncError, toError } from '../base/errors.ts'
import { harmless, type Logger, silentLogger } from '../base/logger.ts'
import { bodyIsGone, Failure } from './http/failure.ts'
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

const unanswered = 'The service cannot answer.'

/** What puts `service` into a server of Node's. It is to come before anything that reads bodies. It never rejects. */
export function nodeHandler(
  service: Pick<SyncService, 'fetch'>,
  { logger = silentLogger }: { readonly logger?: Logger } = {},
): NodeHandler {
  const fault = (reason: string, failure: Failure) => {
    harmless(logger).error(unanswered, { reason })
    const response = refusalOf(failure)
    // It is for a page, too, to read.
    response.headers.set('Access-Control-Allow-Origin', '*')
    return response
  }
  const answer = async (incoming: Incoming) => {
    if (incoming.readableDidRead) {
      const gone = bodyIsGone()
      return fault(gone.message, gone)
    }
    const request = toRequest(incoming)
    if (!request) return badRequest()
    try {
      return await service.fetch(request)
    } catch (error) {
      const { message } = toError(error)
      // What is set up wrongly is for whoever tries it first to read.
      const told = isSyncError(error, 'ConfigurationError') ? message : unanswered
      return fault(message, new Failure(500, 'internal', told))
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
