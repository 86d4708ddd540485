import IsomorphicWebSocket from 'isomorphic-ws'
import type { WebSocketConstructor } from './world.ts'

/** For a Node without a WebSocket of its own (before 22), and for headers, which the standard one cannot send. */
export const fallbackWebSocket: WebSocketConstructor | undefined = class extends IsomorphicWebSocket {
  static readonly sendsHeaders = true
} as unknown as WebSocketConstructor
