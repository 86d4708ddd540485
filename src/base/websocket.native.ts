import type { WebSocketConstructor } from './environment.ts'

/** Where the runtime brings a WebSocket of its own, there is nothing to fall back on. */
export const fallbackWebSocket: WebSocketConstructor | undefined = undefined
