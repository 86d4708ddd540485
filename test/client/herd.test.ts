import { describe, expect, test } from 'vitest'
import { SyncClient, silentLogger } from '../../src/index.ts'
import { BareServer } from '../support/bare-server.ts'
import { type VirtualBareServer, virtualMount } from '../support/bare-server-listen.ts'
import { busiestSecond } from '../support/busiest-second.ts'
import { baseUrl } from '../support/device.ts'
import { VirtualClock, VirtualNetwork, type VirtualServer, virtualEnvironment } from '../support/virtual.ts'

/** Many clients before one bare server, in virtual time. */
class Crowd {
  readonly clock = new VirtualClock()
  readonly server = new BareServer({ now: () => this.clock.now() })
  readonly mount: VirtualBareServer = virtualMount(this.server)
  readonly clients: readonly SyncClient[]
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
      return new SyncClient({
        baseUrl,
        token,
        environment: virtualEnvironment({ seed, clock, network }),
        logger: silentLogger,
      })
    })
  }

  /** How many arrived in the busiest second since `from`. */
  peak(from: number): number {
    return busiestSecond(this.arrivals.filter((at) => at >= from))
  }

  async quit(): Promise<void> {
    await this.clock.until(Promise.all(this.clients.map((client) => client.close())))
  }
}

/** Many clients take long to simulate on a machine that does something else as well. */
const longMs = 60_000

describe('clients whose server restarts', () => {
  test(
    'invariant 51: hundreds of them reconnect within seconds, and not all in the same',
    async () => {
      const crowd = await Crowd.live(400)
      const from = crowd.clock.now()
      crowd.server.sockets.end(1012)
      await crowd.clock.advance(5_000)
      expect(crowd.server.sockets.count()).toBe(400)
      // Each opens a socket, and then fetches a delta.
      expect(crowd.peak(from)).toBeLessThan(2 * 132)
      await crowd.quit()
    },
    longMs,
  )

  test(
    'invariant 51: and stays away for a while do not all return at once',
    async () => {
      const crowd = await Crowd.live(150)
      crowd.mount.down()
      await crowd.clock.advance(15_000)
      const from = crowd.clock.now()
      crowd.mount.up()
      await crowd.clock.advance(40_000)
      expect(crowd.server.sockets.count()).toBe(150)
      expect(crowd.peak(from)).toBeLessThan(75)
      await crowd.quit()
    },
    longMs,
  )
})
