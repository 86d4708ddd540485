import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { busiestSecond } from '../support/busiest-second.ts'
import { Hour } from './hour/hour.ts'
import { somethingHappens } from './hour/troubles.ts'

/** More of them; or one again, by the seed that its failure printed as the counterexample. */
const { HOURS = '20', HOUR } = process.env
const runs = HOUR === undefined ? { numRuns: Number(HOURS) } : { numRuns: 1, examples: [[Number(HOUR)]] }

const anHour = 3_600_000

/** So many requests are made in an hour, and within any second of it, at most. */
const most = { inAll: 600, inASecond: 20 }

test('after an hour with a server that fails at random, the client shows and has stored what the server has, and nothing is left of it once it is closed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.noShrink(fc.noBias(fc.nat())), async (seed) => {
      const hour = new Hour(seed)
      const { client, clock, server, network, environment } = hour
      await client.start()
      const end = clock.now() + anHour
      while (clock.now() < end) {
        somethingHappens(hour)
        await clock.advance(hour.pick([0, 30, 300, 2_000, 10_000, 20_000]))
      }

      hour.heal()
      await clock.advance(300_000)
      expect(client.status).toMatchObject({ data: { state: 'current' }, connection: { state: 'socket' } })
      expect(hour.shown).toEqual(hour.true)
      expect(server.requests.length).toBeLessThan(most.inAll)
      expect(busiestSecond(server.requests.map(({ at }) => at))).toBeLessThan(most.inASecond)

      await clock.until(client.close())
      // The other side of a socket has half a minute to answer that it is closed.
      await clock.advance(60_000)
      expect({
        promises: hour.pending.size,
        timers: clock.timers,
        calls: network.calls,
        sockets: network.sockets,
        listeners: environment.lifecycle.listeners,
      }).toEqual({ promises: 0, timers: 0, calls: 0, sockets: 0, listeners: 0 })
      const asked = server.requests.length
      await clock.advance(anHour)
      expect(server.requests.length).toBe(asked)
      expect(await hour.stored()).toEqual(hour.true)
      expect(hour.faults).toEqual([])
    }),
    runs,
  )
}, 120_000)
