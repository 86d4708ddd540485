import IsomorphicWebSocket from 'isomorphic-ws'
import type { WebSocketConstructor } from './environment.ts'

/** The time within which the other side has to complete the closing, in ms. A peer that is gone never does. */
const closingMs = 1_000

/**
 * The WebSocket for Node before 22, which has no global one, and for headers, which the standard WebSocket cannot send.
 */
export const fallbackWebSocket: WebSocketConstructor | undefined = class extends IsomorphicWebSocket {
  static readonly sendsHeaders = true

  // `ws` also calls this method when the other side closes or breaks the protocol. It would then wait for 30 s without
  // reading, and keep the process alive for that time.
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, reason)
    setTimeout(() => this.terminate(), closingMs).unref()
  }
} as unknown as WebSocketConstructor
