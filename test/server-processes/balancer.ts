import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** What stands before several processes: each connection goes to the next of them that takes it. */
export interface Balancer {
  /** Its own address, with the path of the processes' addresses. */
  readonly url: string
  /**
   * From now on nothing arrives of what the process at `url` says. Resolves once that has been the answer to a
   * transaction.
   */
  silence(url: string): Promise<void>
  close(): Promise<void>
}

export async function startBalancer(urls: readonly string[]): Promise<Balancer> {
  const ports = urls.map((url) => new URL(url).port)
  const silent = new Map<string, () => void>()
  const sockets = new Set<Socket>()
  let turn = 0

  const join = (client: Socket, server: Socket, port: string) => {
    client.pipe(server)
    server.on('data', (chunk) => {
      if (!silent.has(port)) client.write(chunk)
      else if (chunk.includes('"results":')) silent.get(port)?.()
    })
    client.once('close', () => server.destroy())
    server.once('close', () => client.destroy())
  }
  const pass = (client: Socket, tries: number) => {
    turn += 1
    const port = ports[turn % ports.length] ?? ''
    const server = connect({ host: '127.0.0.1', port: Number(port) })
    const refused = () => (tries > 1 ? pass(client, tries - 1) : client.destroy())
    server.once('error', refused)
    server.once('connect', () => {
      server.off('error', refused)
      server.on('error', () => {})
      join(client, server, port)
    })
  }
  const balancer = createServer((client) => {
    sockets.add(client)
    client.on('error', () => {})
    client.once('close', () => sockets.delete(client))
    pass(client, ports.length)
  })
  balancer.listen(0, '127.0.0.1')
  await once(balancer, 'listening')
  const url = new URL(urls[0] ?? '')
  url.port = String((balancer.address() as AddressInfo).port)
  return {
    url: url.href,
    silence: (silenced) => new Promise((resolve) => silent.set(new URL(silenced).port, resolve)),
    async close() {
      balancer.close()
      for (const socket of sockets) socket.destroy()
      await once(balancer, 'close')
    },
  }
}
