import { describe, expect, test } from 'vitest'
import { Crowd } from '../support/crowd.ts'

/** Many clients take long to simulate on a machine that does something else as well. */
const longMs = 60_000

describe('clients whose server restarts', () => {
  test(
    'invariant 51: hundreds of them reconnect within seconds, and not all in the same',
    async () => {
      const crowd = await Crowd.live(150)
      const from = crowd.clock.now()
      crowd.server.sockets.end(1012)
      await crowd.clock.advance(5_000)
      expect(crowd.server.sockets.count()).toBe(150)
      // Each opens a socket, and then fetches a delta.
      expect(crowd.peak(from)).toBeLessThan(150)
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

test(
  'clients whose network is back in the same moment send about one request each a second',
  async () => {
    const crowd = await Crowd.live(150)
    crowd.disconnect()
    await crowd.clock.advance(60_000)
    const from = crowd.clock.now()
    crowd.reconnect()
    await crowd.clock.advance(5_000)
    expect(crowd.server.sockets.count()).toBe(150)
    // Each fetches a delta, opens a socket, and then fetches another delta.
    expect(crowd.peak(from)).toBeLessThan(165)
    await crowd.quit()
  },
  longMs,
)
