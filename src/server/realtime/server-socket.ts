/**
 * The server's end of an open WebSocket, as `ws`, Deno and workers provide it. The sockets of `Bun.serve` have no
 * `addEventListener`, and `getBufferedAmount()`: pass an object that forwards these calls.
 */
export interface ServerSocket {
  /** The number of bytes that are sent but still buffered. */
  readonly bufferedAmount: number
  send(data: string): void
  close(code?: number, reason?: string): void
  addEventListener(type: 'close', listener: () => void): void
}

/** Takes a socket whose request was accepted. Call it as soon as the socket is open. */
export type AcceptSocket = (socket: ServerSocket) => void

/**
 * The codes with which the service closes a socket (RFC 6455, section 7.4; codes from 4000 are application-defined).
 */
export const closeCodes = {
  /** The service stops, or has lost track of the changes. The client should connect again. */
  restart: 1012,
  /** The client reads too slowly. It should connect again and fetch a delta. */
  tooSlow: 1013,
  /** The request is refused for a reason other than its credentials. */
  policy: 1008,
  /** The credentials are missing, invalid, expired or revoked. */
  unauthenticated: 4401,
} as const
