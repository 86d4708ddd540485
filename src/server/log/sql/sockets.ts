import { Socket } from 'node:net'

/** The sockets to a database that are open. */
export class Sockets {
  readonly #open = new Set<Socket>()

  make(): Socket {
    const socket = new Socket()
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    return socket
  }

  /** Ends all at once, whatever the other side does. */
  cut(): void {
    for (const socket of this.#open) socket.destroy()
  }

  /** Resolves once all have ended that are open now. */
  async closed(): Promise<void> {
    await Promise.all(
      [...this.#open].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    )
  }
}
