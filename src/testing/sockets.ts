import { wrongOption } from '../base/errors.ts'
import { closeCodes, type ServerSocket } from '../server/realtime/server-socket.ts'

/** The server's end of a socket that can break. */
export interface BreakableSocket extends ServerSocket {
  /** Ends it without a word, on both sides. */
  terminate(): void
}

/** A message that the service has pushed and that waits. Sent twice it is a duplicate, never sent it is lost. */
export interface HeldPush {
  readonly identity: string | undefined
  readonly message: unknown
  send(): void
}

/** The open sockets, and what the service pushes on them. */
export class Sockets {
  readonly #open = new Map<BreakableSocket, string | undefined>()
  /** What waits, in the order in which it was pushed. */
  held: HeldPush[] = []
  holding = false

  /** `socket` as the service is to have it. */
  add(socket: BreakableSocket, identity: string | undefined): ServerSocket {
    this.#open.set(socket, identity)
    socket.addEventListener('close', () => this.#open.delete(socket))
    let greeted = false
    return {
      get bufferedAmount() {
        return socket.bufferedAmount
      },
      send: (data) => {
        if (this.holding && greeted) this.#hold(socket, identity, data)
        else socket.send(data)
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
    for (const [socket, own] of this.#open) {
      if (identity === undefined || identity === own) socket.send(text)
    }
  }

  /** Closes all, as a service does that restarts. */
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
