import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { rejectionCodes } from '../../src/protocol/tx.ts'
import { Simulation, type SimulationOptions } from './simulation/simulation.ts'
import { someTroubles, step, take } from './simulation/steps.ts'

const options: fc.Arbitrary<SimulationOptions> = fc.record({
  seed: fc.nat(),
  sockets: fc.constantFrom(true, true, true, false),
  signsInAtOnce: fc.boolean(),
  chunkMs: fc.constantFrom(0, 0, 700),
  troubles: someTroubles,
})

/** More of them; or one again, by the seed and the path that its failure printed. */
const { RUNS = '80', SEED, SEED_PATH = '' } = process.env

/** At most so many requests follow from one step, and from some quiet minutes. */
const maxAsked = 20
const maxAskedQuietly = 120

async function expectQuiet(simulation: Simulation): Promise<void> {
  const asked = simulation.requests
  await simulation.clock.advance(180_000)
  expect(simulation.requests - asked).toBeLessThan(maxAskedQuietly)
}

function isSettled({ devices }: Simulation): boolean {
  return devices.every(({ process }) => {
    const { data, writes } = process?.client.status ?? {}
    return data?.state === 'current' && writes?.pending === 0
  })
}

/** Every device shows what the service has, which is what the accepted writes make, each done once. */
async function expectTruth(simulation: Simulation): Promise<void> {
  for (const device of simulation.devices) {
    const process = await device.running()
    await process.check()
    const { status, outbox } = process.client
    const stored = await simulation.stored(device.user)
    expect(stored).toEqual(simulation.history.truthAt(device.user, Number.POSITIVE_INFINITY))
    expect(process.shown).toEqual(stored)
    expect(status).toMatchObject({ data: { state: 'current' }, writes: { pending: 0 } })
    expect(status.writes.paused).toBeUndefined()
    for (const { id, state, rejection } of outbox.list()) {
      expect([state, simulation.history.accepted.has(id)]).toEqual(['rejected', false])
      expect(rejectionCodes).toContain(rejection?.reason)
    }
  }
}

test('whatever happens, each write is done once, in its order, is shown until then, or comes back with a reason', async () => {
  await fc.assert(
    fc.asyncProperty(options, fc.array(step, { maxLength: 40, size: 'max' }), async (chosen, steps) => {
      const simulation = await Simulation.open(chosen)
      const { clock, devices, faults } = simulation
      for (const next of steps) {
        await take(simulation, next)
        expect(faults).toEqual([])
      }
      expect(simulation.requests).toBeLessThan(maxAsked * (steps.length + devices.length))

      await simulation.heal()
      await expectQuiet(simulation)
      // A client that sees one history after another waits longer each time before it begins anew; one that met a
      // server which takes no transactions asks again after some minutes.
      for (let waits = 0; waits < 40 && !isSettled(simulation); waits += 1) await expectQuiet(simulation)
      // Whoever polls hears of the last of it.
      await clock.advance(35_000)
      await expectTruth(simulation)

      for (const device of devices) {
        const process = await device.running()
        const n = simulation.next() * 11 + 1
        process.write((m) => m.put('Note', { id: device.user, n }), {})
      }
      await clock.advance(35_000)
      await expectTruth(simulation)
      expect(faults).toEqual([])

      for (const device of devices) await device.quit()
      await simulation.service.close()
      await clock.advance(60_000)
      expect(clock.timers).toBe(0)
    }),
    {
      endOnFailure: Boolean(process.env.FAST),
      numRuns: Number(RUNS),
      ...(SEED && { seed: Number(SEED), path: SEED_PATH }),
    },
  )
}, 120_000)
