import { SyncClient, silentLogger } from '../../src/index.ts'
import { BareServer } from './bare-server.ts'
import { type VirtualBareServer, virtualMount } from './bare-server-listen.ts'
import { busiestSecond } from './busiest-second.ts'
import { baseUrl } from './device.ts'
import {
  VirtualClock,
  type VirtualEnvironment,
  VirtualNetwork,
  type VirtualServer,
  virtualEnvironment,
} from './virtual.ts'

/** Many clients before one bare server, in virtual time. */
export class Crowd {
  readonly clock = new VirtualClock()
  readonly server = new BareServer({ now: () => this.clock.now() })
  readonly mount: VirtualBareServer = virtualMount(this.server)
  readonly clients: readonly SyncClient[]
  readonly #environments: VirtualEnvironment[] = []
  readonly #networks: VirtualNetwork[] = []
  /** When each request or socket reached the server's host, refused ones included, in ms since the epoch. */
  readonly arrivals: number[] = []

  /** `size` clients that have started, evenly over the time of a poll, and are live. */
  static async live(size: number): Promise<Crowd> {
    const crowd = new Crowd(size)
    for (const client of crowd.clients) {
      void client.start()
      await crowd.clock.advance(30_000 / size)
    }
    await crowd.clock.advance(1_000)
    return crowd
  }

  private constructor(size: number) {
    this.server.write('ada', [{ op: 'i', t: 'Issue', id: '1', p: {} }])
    const token = this.server.tokens.issue('ada')
    const { clock, mount } = this
    const arrived = () => void this.arrivals.push(clock.now())
    const server: VirtualServer = {
      fetch: (request) => {
        arrived()
        return mount.fetch(request)
      },
      upgrade: (request) => {
        arrived()
        return mount.upgrade(request)
      },
    }
    this.clients = Array.from({ length: size }, (_, seed) => {
      const network = new VirtualNetwork({ clock, server })
      const environment = virtualEnvironment({ seed, clock, network })
      this.#networks.push(network)
      this.#environments.push(environment)
      return new SyncClient({ baseUrl, token, environment, logger: silentLogger })
    })
  }

  /** How many arrived in the busiest second since `from`. */
  peak(from: number): number {
    return busiestSecond(this.arrivals.filter((at) => at >= from))
  }

  /** All of them lose their network, and notice it. */
  disconnect(): void {
    for (const network of this.#networks) network.cut()
    for (const { lifecycle } of this.#environments) lifecycle.set({ online: false })
  }

  /** All of them have a network again, and notice it in the same moment. */
  reconnect(): void {
    for (const network of this.#networks) network.mend()
    for (const { lifecycle } of this.#environments) lifecycle.set({ online: true })
  }

  async quit(): Promise<void> {
    await this.clock.until(Promise.all(this.clients.map((client) => client.close())))
  }
}
