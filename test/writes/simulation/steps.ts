import * as fc from 'fast-check'
import type { Transaction } from '../../../src/index.ts'
import { faults as storeFaults } from '../../support/store-faults.ts'
import { answers } from './answers.ts'
import type { Process } from './process.ts'
import { ids, type Simulation, types } from './simulation.ts'

/** Something happens, by `n` in one of its ways, and then time goes by. */
export interface Step {
  readonly what: keyof typeof deeds | keyof typeof changes | keyof typeof troubles
  readonly device: number
  readonly n: number
  readonly ms: number
}

interface Moment {
  readonly simulation: Simulation
  readonly process: Process
  readonly n: number
}

const latencies = [20, 0, 300, 3_000]

const targetOf = (n: number) => ({ t: types[n % 2] ?? '', id: ids[(n >> 1) % ids.length] ?? '' })
const pick = <T>(items: readonly T[], n: number): T | undefined => items[n % items.length]
const rejected = ({ process, n }: Moment) => pick(process.client.outbox.list({ state: 'rejected' }), n)

function optionsOf({ process, n }: Moment) {
  const required = n % 4 === 0 ? pick(process.client.outbox.list(), n) : undefined
  return {
    ...(n % 5 === 0 && { coalesce: `${n % 2}` }),
    ...(n % 7 === 0 && { group: 'group' }),
    ...(required && { requires: [required] }),
  }
}

const unchanged = (n: number) => ({ ifUnchanged: n % 3 === 0 })

/** What the users do. */
const deeds = {
  insert({ simulation, process, n }: Moment) {
    const { t, id } = targetOf(n)
    const fields = { n: simulation.next(), m: simulation.next() }
    process.write((m) => {
      m.insert(t, { ...fields, id })
      // Where it is there already when this arrives, it stays as it is.
      process.forget(`${t} ${id} `)
    }, optionsOf({ simulation, process, n }))
  },
  update({ simulation, process, n }: Moment) {
    const { t, id } = targetOf(n)
    const fields = { [n % 5 < 3 ? 'n' : 'm']: simulation.next() }
    process.write((m, own) => {
      m.update(t, id, fields, unchanged(n))
      own(t, id, fields)
    }, optionsOf({ simulation, process, n }))
  },
  put({ simulation, process, n }: Moment) {
    const { t, id } = targetOf(n)
    const fields = { n: simulation.next() }
    process.write((m, own) => {
      m.put(t, { ...fields, id }, unchanged(n))
      own(t, id, { ...fields, m: undefined })
    }, optionsOf({ simulation, process, n }))
  },
  delete({ simulation, process, n }: Moment) {
    const { t, id } = targetOf(n)
    process.forget()
    process.write((m) => m.delete(t, id, unchanged(n)), optionsOf({ simulation, process, n }))
  },
  'write several'({ simulation, process, n }: Moment) {
    const [a, b] = [targetOf(n), targetOf(n + 3)]
    const fields = { n: simulation.next(), m: n }
    process.write((m, own) => {
      m.put(a.t, { ...fields, id: a.id })
      own(a.t, a.id, fields)
      if (m.get(b.t, b.id)) own(b.t, b.id, { n: undefined, m: undefined })
      m.delete(b.t, b.id)
      if (n % 2 > 0) return
      m.insert(b.t, { ...fields, id: b.id })
      process.forget(`${b.t} ${b.id} `)
    }, optionsOf({ simulation, process, n }))
  },
  'write many'({ simulation, process, n }: Moment) {
    for (let count = 0; count < 12; count += 1) {
      const fields = { m: simulation.next() }
      const { t, id } = targetOf(n + count)
      process.write((m, own) => {
        m.update(t, id, fields)
        own(t, id, fields)
      }, {})
    }
  },
  'undo one': ({ process, n }: Moment) => {
    const pending = process.transactions.filter(({ state }) => state === 'queued')
    const one = pick<Transaction>(
      n % 2 === 0 || pending.length === 0 ? process.transactions : pending,
      n >> 1,
    )
    if (one) process.undo(one)
  },
  'undo the last': ({ process }: Moment) => {
    process.forget()
    process.client.undo().catch(() => {})
  },
  redo: ({ process }: Moment) => {
    process.forget()
    process.client.redo().catch(() => {})
  },
  retry(moment: Moment) {
    const { simulation, process, n } = moment
    const { t, id } = targetOf(n)
    const one = rejected(moment)
    process.forget()
    if (!one) return
    try {
      const edit = (m: { put(t: string, p: { id: string; n: number }): void }) =>
        m.put(t, { id, n: simulation.next() })
      process.client.outbox.retry(one.id, n % 3 === 0 ? edit : undefined)
    } catch {
      // What it wrote does not fit any more: it stays where it is.
      if (process.client.outbox.get(one.id)?.state !== 'rejected') {
        simulation.faults.push(`${one.id} is gone after a retry that failed`)
      }
    }
  },
  discard(moment: Moment) {
    const one = rejected(moment)
    if (one) moment.process.client.outbox.discard(one.id).catch(() => {})
  },
}

/** What the service does. */
const changes = {
  'write for a user': ({ simulation, n }: Moment) => {
    const target = targetOf(n)
    const p = { n: simulation.next() * 11 + 1, m: simulation.next(), userId: n % 7 === 0 ? 'ben' : 'ada' }
    return simulation.write([{ op: 'i', put: true, ...target, p }])
  },
  'update for a user'({ simulation, n }: Moment) {
    const target = targetOf(n)
    const p = n % 2 === 0 ? { m: simulation.next() } : { n: simulation.next() * 11 + 1 }
    return simulation.history.has(target.t, target.id)
      ? simulation.write([{ op: 'u', ...target, p }])
      : undefined
  },
  remove: ({ simulation, n }: Moment) => simulation.write([{ op: 'd', ...targetOf(n) }]),
}

/** What happens in some runs, and not in others. */
const troubles = {
  'answer a transaction otherwise': ({ simulation, process, n }: Moment) => {
    const answer = pick(answers, n)
    for (let times = 0; answer && times <= n % 3; times += 1) {
      simulation.intercepts.push(answer({ simulation, process }))
    }
  },
  'die when it is committed': ({ simulation, process }: Moment) => {
    simulation.intercepts.push(async (_, pass) => {
      const response = await pass()
      process.die()
      return response
    })
  },
  'restore when it is committed': ({ simulation }: Moment) => {
    simulation.intercepts.push(async (_, pass) => {
      const response = await pass()
      await simulation.restore(1)
      return response
    })
  },
  'refuse some': ({ simulation, n }: Moment) => {
    simulation.refuses = n % 2 === 0
  },
  'trim the log': ({ simulation, n }: Moment) => simulation.log.trim(simulation.log.writes - (n % 3)),
  'restart the service': ({ simulation }: Moment) => simulation.restart(),
  'restore the service': ({ simulation, n }: Moment) => simulation.restore(n % 5),
  'cut the network': ({ process }: Moment) => process.network.cut(),
  'black hole': ({ process }: Moment) => process.network.blackHole(),
  'mend the network': ({ process }: Moment) => process.network.mend(),
  latency: ({ process, n }: Moment) => {
    process.network.latencyMs = latencies[n % 4] ?? 0
  },
  lifecycle: ({ process, n }: Moment) =>
    process.environment.lifecycle.set({ online: n % 2 === 0, visible: n % 3 > 0 }),
  revoke: ({ simulation, n }: Moment) => {
    const device = pick(simulation.devices, n)
    if (device) simulation.revoked.add(device.token)
  },
  'sign in': ({ simulation, process, n }: Moment) => {
    pick(simulation.devices, n)?.signIn()
    process.client.resume()
  },
  'set the clock': ({ process, n }: Moment) => process.environment.clock.jump((n - 500) * 10_000),
  sync: ({ process }: Moment) => void process.client.sync().catch(() => {}),
  'store fault': ({ process, n }: Moment) => process.store.arm((n >> 2) % 12, storeFaults[n % 5] ?? 'crash'),
  'close the database'({ process, n }: Moment) {
    process.engine.refusals = n % 4
    process.engine.close('all')
  },
  stop: ({ process }: Moment) => void process.client.stop(),
  start: ({ process }: Moment) => void process.client.start(),
  kill: ({ process }: Moment) => process.die(),
}

const namesOf = <Name extends string>(of: { readonly [N in Name]: unknown }) => Object.keys(of) as Name[]

export const step: fc.Arbitrary<Step> = fc.record({
  what: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...namesOf(deeds)) },
    { weight: 2, arbitrary: fc.constantFrom(...namesOf(changes)) },
    { weight: 4, arbitrary: fc.constantFrom(...namesOf(troubles)) },
  ),
  device: fc.nat(2),
  n: fc.nat(999),
  ms: fc.constantFrom(0, 0, 30, 100, 700, 700, 5_000, 40_000),
})

/** The troubles of one run: the fewer they are, the longer the stories between them. */
export const someTroubles: fc.Arbitrary<readonly string[]> = fc.subarray(namesOf(troubles))

export async function take(simulation: Simulation, { what, device: index, n, ms }: Step): Promise<void> {
  const process = await simulation.devices[index]?.running()
  if (!process || (what in troubles && !simulation.options.troubles.includes(what))) return
  await { ...deeds, ...changes, ...troubles }[what]({ simulation, process, n })
  await simulation.clock.advance(ms)
  for (const each of simulation.devices) await (await each.running()).check()
}
