import type { WebSocketConstructor } from './environment.ts'

/** This runtime has its own WebSocket, so no fallback is needed. */
export const fallbackWebSocket: WebSocketConstructor | undefined = undefined
