import { Socket } from 'node:net'

/** The open sockets to a database. */
export class Sockets {
  readonly #open = new Set<Socket>()

  make(): Socket {
    const socket = new Socket()
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    return socket
  }

  /** Destroys all sockets, without waiting for the other side. */
  cut(): void {
    for (const socket of this.#open) socket.destroy()
  }

  /** Resolves once all sockets have closed that are open now. */
  async closed(): Promise<void> {
    await Promise.all(
      [...this.#open].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    )
  }
}
