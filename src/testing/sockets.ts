import { wrongOption } from '../base/errors.ts'
import { closeCodes, type ServerSocket } from '../server/realtime/server-socket.ts'
import type { BareServer } from './bare.ts'

/** The server's end of a socket whose connection can break. */
export interface BreakableSocket extends ServerSocket {
  /** Ends the socket on both sides, without a closing handshake. */
  terminate(): void
}

/** A held push of the service. Call `send` twice to duplicate the push, or never to lose it. */
export interface HeldPush {
  readonly identity: string | undefined
  readonly message: unknown
  send(): void
}

/** The open sockets, and the pushes of the service. */
export class Sockets {
  readonly #open = new Map<BreakableSocket, string | undefined>()
  /** The held pushes, in the order in which the service pushed them. */
  held: HeldPush[] = []
  holding = false
  readonly #bare: BareServer | undefined

  /** `bare`: translates what the service sends. */
  constructor(bare?: BareServer) {
    this.#bare = bare
  }

  /**
   * Returns a wrapper of `socket` for the service, which can hold pushes. The first message, the hello, is never held.
   */
  add(socket: BreakableSocket, identity: string | undefined): ServerSocket {
    this.#open.set(socket, identity)
    socket.addEventListener('close', () => this.#open.delete(socket))
    const sendOrHold = (data: string) => {
      if (this.holding) this.#hold(socket, identity, data)
      else if (this.#open.has(socket)) socket.send(data)
    }
    const push = this.#bare?.pushTo(identity, sendOrHold) ?? sendOrHold
    let greeted = false
    return {
      get bufferedAmount() {
        return socket.bufferedAmount
      },
      send: (data) => {
        if (greeted) push(data)
        else if (!this.#bare) socket.send(data)
        greeted = true
      },
      close: (code, reason) => socket.close(code, reason),
      addEventListener: (type, listener) => socket.addEventListener(type, listener),
    }
  }

  release(): void {
    this.holding = false
    for (const push of this.held.splice(0)) push.send()
  }

  /** Sends `message` on all sockets, or on those of `identity`. */
  push(message: unknown, identity?: string): void {
    const text: string | undefined = JSON.stringify(message)
    if (text === undefined) throw wrongOption('message', 'must be JSON.')
    for (const [socket, owner] of this.#open) {
      if (identity === undefined || identity === owner) socket.send(text)
    }
  }

  /** Closes all sockets, as a restarting service does. */
  restart(): void {
    for (const socket of this.#open.keys()) socket.close(closeCodes.restart, 'restart')
  }

  terminate(): void {
    for (const socket of this.#open.keys()) socket.terminate()
  }

  #hold(socket: BreakableSocket, identity: string | undefined, data: string): void {
    this.held.push({ identity, message: JSON.parse(data), send: () => socket.send(data) })
  }
}
