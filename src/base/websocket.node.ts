import IsomorphicWebSocket from 'isomorphic-ws'
import type { WebSocketConstructor } from './environment.ts'

/** How long the other side may take for its part of the closing, in ms: one that is gone never does it. */
const closingMs = 1_000

/** For a Node without a WebSocket of its own (before 22), and for headers, which the standard one cannot send. */
export const fallbackWebSocket: WebSocketConstructor | undefined = class extends IsomorphicWebSocket {
  static readonly sendsHeaders = true

  // Called by `ws` itself, too, where the other side closes or breaks the protocol. It would wait for 30 s, deaf, and
  // keep the process that long.
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, reason)
    setTimeout(() => this.terminate(), closingMs).unref()
  }
} as unknown as WebSocketConstructor
