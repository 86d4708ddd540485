import type { IncomingMessage, ServerResponse } from 'node:http'

export interface NextApp {
  prepare(): Promise<void>
  getRequestHandler(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
}

export function start(options: {
  readonly app: NextApp
  readonly port?: number
}): Promise<{ readonly url: string; close(): Promise<void> }>
