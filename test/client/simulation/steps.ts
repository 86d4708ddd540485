import * as fc from 'fast-check'
import { type BareFault, faults } from '../../support/bare-server-faults.ts'
import { faults as storeFaults } from '../../support/store-faults.ts'
import type { SimulatedDevice } from './device.ts'
import { types } from './process.ts'
import type { Simulation } from './simulation.ts'

/** Something happens, by `n` in one of its ways, and then time goes by. */
export interface Step {
  readonly what: keyof typeof changes | keyof typeof troubles
  readonly device: number
  readonly n: number
  readonly ms: number
}

interface Moment {
  readonly simulation: Simulation
  readonly device: SimulatedDevice
  readonly n: number
}

const answers: readonly BareFault[] = [
  faults.portal(),
  faults.noContent(),
  faults.brokenJson(),
  faults.badGzip(),
  faults.redirect('/sign-in'),
  faults.truncated(0.5),
  faults.truncated(0.5, 'whole'),
  faults.truncated(0.5, 'stalled'),
  faults.silent(),
  faults.answer(500),
  faults.answer(403),
  faults.answer(400),
  faults.answer(503, '', { 'retry-after': '2' }),
]

const paths = ['/delta', '/bootstrap', '/ws', '']
const latencies = [20, 0, 300, 3_000]

const targetOf = (n: number) => ({ t: types[n % 2] ?? '', id: `${Math.trunc(n / 2) % 4}` })

/** Whose it is comes with every record: the server would put it there by itself. */
const insertOf = ({ simulation, n }: Moment) => ({
  op: 'i' as const,
  ...targetOf(n),
  p: { userId: 'ada', n: simulation.next() },
})

/** What always happens. */
const changes = {
  insert: (moment: Moment) => moment.simulation.write([insertOf(moment)]),
  update({ simulation, n }: Moment) {
    const target = targetOf(n)
    const field = n % 3 === 0 ? { m: null } : { n: simulation.next() }
    if (simulation.oracle.get(target.t, target.id)) simulation.write([{ op: 'u', ...target, p: field }])
  },
  remove: ({ simulation, n }: Moment) => simulation.write([{ op: 'd', ...targetOf(n) }]),
  'give away or back'({ simulation, n }: Moment) {
    const target = targetOf(n)
    const userId = n % 3 === 0 ? 'ada' : 'ben'
    if (simulation.oracle.get(target.t, target.id)) simulation.write([{ op: 'u', ...target, p: { userId } }])
  },
  'write several'(moment: Moment) {
    const { simulation, n } = moment
    const other = targetOf(n + 3)
    simulation.write(
      [insertOf(moment), { op: 'd', ...other }, insertOf({ ...moment, n: n + 5 })],
      n % 2 === 0,
    )
  },
  'write for another': ({ simulation, n }: Moment) =>
    simulation.write([{ op: 'i', t: 'Issue', id: `ben ${n % 4}`, p: { userId: 'ben' } }]),
  'send a push'({ simulation, n }: Moment) {
    const { held } = simulation.server
    for (const push of held.splice(n % (held.length + 1), 1)) push.send()
  },
  'double a push': ({ simulation, n }: Moment) => {
    const { held } = simulation.server
    held[n % (held.length + 1)]?.send()
  },
  'lose pushes': ({ simulation, n }: Moment) => simulation.server.held.splice(0, n % 4),
}

/** What happens in some runs, and not in others. */
const troubles = {
  'fail requests': ({ simulation, n }: Moment) =>
    simulation.server.failNext(answers[n % answers.length] ?? faults.silent(), {
      times: 1 + (n % 3),
      path: paths[Math.trunc(n / 3) % 4] ?? '',
    }),
  'forget the log': ({ simulation }: Moment) => simulation.server.failNext(faults.gone(), { path: '/delta' }),
  'end sockets': ({ simulation, n }: Moment) => simulation.server.sockets.end([undefined, 1012, 4401][n % 3]),
  'cut the network': ({ device }: Moment) => device.process?.network.cut(),
  'black hole': ({ device }: Moment) => device.process?.network.blackHole(),
  'mend the network': ({ device }: Moment) => device.process?.network.mend(),
  latency({ device, n }: Moment) {
    if (device.process) device.process.network.latencyMs = latencies[n % 4] ?? 0
  },
  lifecycle: ({ device, n }: Moment) =>
    device.process?.environment.lifecycle.set({ online: n % 2 === 0, visible: n % 3 > 0 }),
  'server down': ({ simulation }: Moment) => simulation.mount.down(),
  'server up': ({ simulation }: Moment) => simulation.mount.up(),
  revoke: ({ simulation, device }: Moment) => simulation.server.tokens.revoke(device.token),
  'sign in': ({ device }: Moment) => device.signIn(),
  'store fault': ({ device, n }: Moment) =>
    device.process?.store.arm(Math.trunc(n / 4) % 12, storeFaults[n % 5] ?? 'throw'),
  'close the database'({ device, n }: Moment) {
    if (!device.process) return
    device.process.engine.refusals = n % 4
    device.process.engine.close('all')
  },
  sync: ({ device }: Moment) => void device.sync(),
  stop: ({ device }: Moment) => void device.process?.client.stop(),
  start: ({ device }: Moment) => void device.process?.client.start(),
  quit: ({ device }: Moment) => device.quit(),
  kill: ({ device }: Moment) => device.process?.die(),
}

const namesOf = <Name extends string>(of: { readonly [N in Name]: unknown }) => Object.keys(of) as Name[]

export const step: fc.Arbitrary<Step> = fc.record({
  what: fc.oneof(fc.constantFrom(...namesOf(changes)), fc.constantFrom(...namesOf(troubles))),
  device: fc.nat(1),
  n: fc.nat(999),
  ms: fc.constantFrom(0, 30, 100, 300, 700, 700, 5_000, 40_000),
})

/** The troubles of one run: the fewer they are, the longer the stories between them. */
export const someTroubles: fc.Arbitrary<readonly string[]> = fc.subarray(namesOf(troubles))

export async function take(simulation: Simulation, { what, device: index, n, ms }: Step): Promise<void> {
  const device = simulation.devices[index]
  if (!device || (what in troubles && !simulation.options.troubles.includes(what))) return
  await { ...changes, ...troubles }[what]({ simulation, device, n })
  await simulation.clock.advance(ms)
  for (const each of simulation.devices) (await each.running()).check()
}
