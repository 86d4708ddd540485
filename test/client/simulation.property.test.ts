import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Simulation, type SimulationOptions } from './simulation/simulation.ts'
import { someTroubles, step, take } from './simulation/steps.ts'

/** A server that is as it likes in all that the interface leaves open, and applications of two kinds. */
const options: fc.Arbitrary<SimulationOptions> = fc.record({
  seed: fc.nat(),
  snapshotSid: fc.constantFrom('first', 'last'),
  snapshotTo: fc.constantFrom('head', 'rows'),
  // Deltas of rows alone tell of no removal.
  delta: fc.constantFrom('frames', 'both'),
  deltaSid: fc.constantFrom('frames', 'head'),
  push: fc.constantFrom('none', 'frame', 'frames', 'delta', 'sid', 'hint'),
  hold: fc.boolean(),
  chunkBytes: fc.constantFrom(0, 0, 90),
  sockets: fc.constantFrom(true, true, true, false),
  chunkMs: fc.constantFrom(0, 400),
  signsInAtOnce: fc.boolean(),
  troubles: someTroubles,
})

/** More of them; or one again, by the seed and the path that its failure printed. */
const { RUNS = '150', SEED, SEED_PATH = '' } = process.env

/** At most so many requests follow from one step, and from some quiet minutes. */
const maxAsked = 10
const maxAskedQuietly = 40

async function expectTruth(simulation: Simulation): Promise<void> {
  const { server, options } = simulation
  for (const device of simulation.devices) {
    const process = await device.running()
    const { status, lastSyncId } = process.client
    expect(status).toMatchObject({
      data: { state: 'current' },
      connection: { state: options.sockets ? 'socket' : 'polling' },
    })
    expect(process.shown).toEqual(simulation.truthAt(server.data.sid))
    // Where a snapshot without rows reaches nowhere, every fetch is another one.
    if (options.snapshotTo === 'rows' && lastSyncId === 0) continue
    expect(server.data.framesSince('ada', lastSyncId)).toEqual([])
    if (options.deltaSid === 'head') expect(lastSyncId).toBe(server.data.sid)
  }
}

/** What each device would show after a crash now, where its store takes anything. */
async function expectStored(simulation: Simulation): Promise<void> {
  for (const device of simulation.devices) {
    const process = await device.running()
    process.die()
    const again = await device.running()
    again.network.chunkMs = 0
    const { reason } = process.client.status.storage
    if (!reason) expect(again.shown).toEqual(simulation.truthAt(simulation.server.data.sid))
  }
}

test('invariant 1, invariant 2, invariant 36, invariant 67: whatever happens, each device shows in the end what is true, and has stored at every moment only what is', async () => {
  await fc.assert(
    fc.asyncProperty(options, fc.array(step, { maxLength: 50, size: 'max' }), async (chosen, steps) => {
      const simulation = new Simulation(chosen)
      const { clock, server, devices } = simulation
      for (const next of steps) await take(simulation, next)
      expect(server.requests.length).toBeLessThan(maxAsked * (steps.length + devices.length))

      const asked = server.requests.length
      await simulation.heal()
      // A snapshot that went into a black hole is given up after two minutes.
      await clock.advance(180_000)
      expect(server.requests.length - asked).toBeLessThan(maxAskedQuietly)
      await expectTruth(simulation)

      // The second of these finds no socket that is deaf since the network was mended.
      const soon = chosen.sockets && chosen.push !== 'none' ? 2_000 : 70_000
      for (const ms of [70_000, soon]) {
        simulation.write([{ op: 'i', t: 'Issue', id: `${ms}`, p: { userId: 'ada', n: simulation.next() } }])
        await clock.advance(ms)
        await expectTruth(simulation)
      }
      await expectStored(simulation)

      await clock.advance(20_000)
      server.sockets.end()
      simulation.write([{ op: 'd', t: 'Issue', id: '70000' }])
      await clock.advance(chosen.sockets ? 10_000 : 40_000)
      await expectTruth(simulation)
      for (const device of devices) await device.quit()
      expect(clock.timers).toBe(0)
    }),
    { numRuns: Number(RUNS), ...(SEED && { seed: Number(SEED), path: SEED_PATH }) },
  )
}, 120_000)
