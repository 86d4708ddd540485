import type { WebSocketConstructor, WebSocketLike } from '../../src/base/environment.ts'

/** A socket that does what a test tells it, and remembers what was done to it. */
export class ManualSocket implements WebSocketLike {
  readyState = 0
  onopen: WebSocketLike['onopen'] = null
  onmessage: WebSocketLike['onmessage'] = null
  onclose: WebSocketLike['onclose'] = null
  onerror: WebSocketLike['onerror'] = null
  readonly url: string
  readonly headers: Readonly<Record<string, string>> | undefined
  closed = false

  constructor(url: string, headers?: Readonly<Record<string, string>>) {
    this.url = url
    this.headers = headers
  }

  send(): void {}

  /** Begins a closing handshake that never ends, as in a black hole. */
  close(): void {
    this.readyState = 2
    this.closed = true
  }

  opens(): void {
    this.readyState = 1
    this.onopen?.({})
  }

  says(data: unknown): void {
    this.onmessage?.({ data })
  }

  /** Ends without a handshake, as when the other side dies. */
  dies(code = 1006): void {
    this.readyState = 3
    this.onerror?.({})
    this.onclose?.({ code, reason: '' })
  }
}

export interface ManualSockets {
  readonly WebSocket: WebSocketConstructor
  /** All that were made, the newest last. */
  readonly all: readonly ManualSocket[]
  /** Those that nobody has closed. */
  readonly live: readonly ManualSocket[]
  /** The newest. */
  readonly last: ManualSocket
}

export function manualSockets({ sendsHeaders = false } = {}): ManualSockets {
  const all: ManualSocket[] = []
  const WebSocket = class extends ManualSocket {
    static readonly sendsHeaders = sendsHeaders

    constructor(url: string, _protocols?: string[], options?: { headers: Readonly<Record<string, string>> }) {
      super(url, options?.headers)
      all.push(this)
    }
  }
  return {
    WebSocket,
    all,
    get live() {
      return all.filter((socket) => !socket.closed && socket.readyState < 2)
    },
    get last() {
      const last = all.at(-1)
      if (!last) throw new Error('No socket was made.')
      return last
    },
  }
}
