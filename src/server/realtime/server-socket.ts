/** The server's end of an open WebSocket, as `ws`, Deno and workers give it. */
export interface ServerSocket {
  /** What was sent and has not left yet, in bytes. */
  readonly bufferedAmount: number
  send(data: string): void
  close(code?: number, reason?: string): void
  addEventListener(type: 'close', listener: () => void): void
}

/** Takes a socket that was let in, as soon as it is open. */
export type AcceptSocket = (socket: ServerSocket) => void

/** Why the service closes a socket (RFC 6455, section 7.4; 4000 and above are the application's own). */
export const closeCodes = {
  /** The service stops, or can no longer tell what came since: connect again. */
  restart: 1012,
  /** The socket took too long to take what was sent: connect again, and fetch a delta. */
  tooSlow: 1013,
  /** The request is refused for another reason than its credentials. */
  policy: 1008,
  /** The credentials have ended, or there were none. */
  unauthenticated: 4401,
} as const
