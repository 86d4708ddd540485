import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a server that can forget connections, as a firewall does: neither side is told, and nothing gets through. */
export interface ForgetfulProxy {
  readonly port: number
  /** Forgets the connections that there are. */
  forget(): void
  /** Forgets a connection once `text` has gone to the server on it: nobody hears what that answers. */
  forgetAfter(text: string): void
  /** Forgets every connection from its beginning, until `false` is said. */
  swallow(all: boolean): void
  /** Ends all connections. */
  close(): Promise<void>
}

/** A way to what listens on the socket at `path`. */
export async function startForgetfulProxy(path: string): Promise<ForgetfulProxy> {
  const ways = new Set<Way>()
  let swallows = false
  let last: string | undefined
  const server = createServer((near) => {
    const way = new Way(near, path, () => last)
    way.forgotten = swallows
    ways.add(way)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    forget() {
      for (const way of ways) way.forgotten = true
    },
    forgetAfter(text) {
      last = text
    },
    swallow(all) {
      swallows = all
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const way of ways) way.destroy()
      await closed
    },
  }
}

class Way {
  forgotten = false
  readonly #near: Socket
  readonly #far: Socket

  constructor(near: Socket, path: string, last: () => string | undefined) {
    this.#near = near
    this.#far = connect(path)
    near.on('data', (data) => {
      if (this.forgotten) return
      this.#far.write(data)
      const text = last()
      this.forgotten = text !== undefined && data.includes(text)
    })
    this.#far.on('data', (data) => {
      if (!this.forgotten) near.write(data)
    })
    for (const [one, other] of [
      [near, this.#far],
      [this.#far, near],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => {
        if (!this.forgotten) other.destroy()
      })
    }
  }

  destroy(): void {
    this.#near.destroy()
    this.#far.destroy()
  }
}
