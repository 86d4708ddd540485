import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** The default export of the package `next`. */
export type Next = (options: { readonly dev: boolean; readonly httpServer: EventEmitter }) => NextApp

export interface NextApp {
  prepare(): Promise<void>
  getRequestHandler(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
}

export function start(options: {
  readonly next: Next
  readonly dev?: boolean
  readonly port?: number
}): Promise<{ readonly url: string; close(): Promise<void> }>
