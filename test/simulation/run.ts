import { busiestSecond } from '../support/busiest-second.ts'
import { healLine } from './line-steps.ts'
import { calmModes, hasDiskMoment, type Plan } from './plan.ts'
import { type Row, rowOf, textOf } from './server-log.ts'
import { note, Simulation } from './simulation.ts'
import { take } from './steps.ts'
import { ids } from './tab.ts'

/** Tabs are in step within so long, in ms, even if some of their messages get lost. */
const aloneMs = 10_000

/** A tab gives up a transaction of a disk that hangs within so long, in ms, and has opened the disk again. */
const againMs = 30_000

/** What a run has shown. */
export interface Outcome {
  readonly faults: readonly string[]
  /** What happened, for a reader. */
  readonly story: readonly string[]
}

/** So many requests may be made in ten quiet minutes by one tab. */
const maxRequests = 30

/**
 * The same where there is no socket. A tab tries it after a random part of 30 s, and asks for a delta each time: forty
 * times on average, and sixty times by chance.
 */
const maxWithoutSocket = 125

/** So many may be made in an hour in which much goes wrong, by one tab. */
const maxPerHour = 600

/** So many may be made within a second by one tab. */
const maxInASecond = 20

/** Does all that a seed says, then lets everything work again, and looks whether all is in its place. */
export async function run(plan: Plan, onAdvance?: (simulation: Simulation) => void): Promise<Outcome> {
  const simulation = await Simulation.open(plan)
  simulation.onAdvance = onAdvance
  const { oracle, server, clock, story } = simulation
  try {
    for (const index of plan.opened) {
      simulation.tab(index)
      await simulation.advance(500)
    }
    for (const step of plan.steps) {
      await take(simulation, step)
      if (oracle.faults.length > 0) return { faults: oracle.faults, story }
    }
    const isTooMany = plan.mode === 'hour' && server.requests.length > maxPerHour * plan.tabs
    if (isTooMany) oracle.fault(`too many requests in an hour: ${server.requests.length}`)
    simulation.tell('everything works again')
    await heal(simulation)
    await look(simulation)
    const stored = await server.rows('ada')
    oracle.undos.check(new Map(stored.map(({ id, p }) => [id, rowOf(p)])))
    if (oracle.faults.length > 0) return { faults: oracle.faults, story }
    await restart(simulation)
  } catch (error) {
    oracle.fault(`something threw: ${error instanceof Error ? error.stack : error}`)
  } finally {
    await server.close().catch((error) => oracle.fault(`the server does not close: ${error}`))
  }
  await clock.advance(60_000)
  for (const { name, mock } of simulation.devices) {
    const { network, environment } = mock
    const left = {
      requests: network.calls,
      sockets: network.sockets,
      listeners: environment.lifecycle.listeners,
    }
    for (const [what, count] of Object.entries(left))
      if (count > 0) oracle.fault(`${what} are left: ${count} of the ${name} device`)
  }
  if (clock.timers > 0) oracle.fault(`timers are left: ${clock.timers}`)
  return { faults: oracle.faults, story }
}

async function heal(simulation: Simulation): Promise<void> {
  const { server, devices, plan } = simulation
  const since = simulation.clock.now() - againMs
  const hadDiskTrouble = devices.some(
    ({ storeFineSince = Number.POSITIVE_INFINITY }) => storeFineSince > since,
  )
  simulation.isServerUp = true
  server.up()
  for (const device of devices) {
    device.disk.heal()
    device.signedIn = device.identity
    device.mend()
  }
  healLine(simulation)
  for (let index = 0; index < plan.tabs + devices.length - 1; index += 1) {
    const tab = simulation.tab(index)
    tab.isStopped = false
    await simulation.clock.until(tab.client.start())
  }
  if (hadDiskTrouble) await simulation.advance(againMs)
  // A tab waits some minutes before it tries again to store what there was no room for.
  if (hasDiskMoment(plan)) await simulation.advance(300_000)
  // A device finds out by itself that a socket is dead, or that a push was lost.
  if (devices.some(({ hadTrouble }) => hadTrouble)) await simulation.advance(300_000)
  if (calmModes.has(plan.mode) && !plan.bare) await leaveAlone(simulation)
  await settle(simulation, 2)
}

/** Tabs that nobody looks at hear of a change, and send what is stored, even if their leader stands still. */
async function leaveAlone(simulation: Simulation): Promise<void> {
  const { oracle, plan } = simulation
  await simulation.advance(aloneMs)
  const leader = simulation.tabs.find(({ client }) => client.status.role === 'leader')
  if (plan.mode === 'pages' && plan.seed % 2 > 0) leader?.halt()
  else if (plan.mode === 'pages') leader?.freezeSoon()
  for (let round = 0; round < 2; round += 1) {
    await simulation.writeElsewhere([note('a', { n: simulation.next() })])
    await simulation.advance(aloneMs)
  }
  const { sid = 0 } = oracle.log.history.states.at(-1) ?? {}
  for (const { name, client, isStill, awakeSince, hasNoDisk } of simulation.tabs) {
    if (isStill) continue
    if (client.lastSyncId < sid) oracle.fault(`a tab that is left alone is behind: ${name}`)
    if (client.status.writes.pending > 0) oracle.fault(`a tab that is left alone sends nothing: ${name}`)
    // One that stood still in the middle of a transaction tries again when somebody looks at it.
    const wasAwake = awakeSince === Number.NEGATIVE_INFINITY
    if (wasAwake && !hasDiskMoment(plan) && !hasNoDisk && client.status.storage.reason)
      oracle.fault(`a tab that is left alone stores nothing: ${name}`)
  }
  leader?.wake()
}

/** Lets every tab hear of the others. A client that met one history after another waits longer each time. */
async function settle(simulation: Simulation, rounds: number): Promise<void> {
  const isSettled = () =>
    simulation.tabs.every(
      ({ client: { status }, hasNoDisk }) =>
        status.data.state === 'current' &&
        status.writes.pending === 0 &&
        (hasNoDisk || status.storage.kind === 'durable'),
    )
  for (let round = 0; round < rounds || (round < 12 && !isSettled()); round += 1) {
    for (const tab of simulation.tabs) {
      if (tab.client.status.connection.state === 'unauthenticated') tab.client.resume()
      tab.show()
    }
    await simulation.advance(round < 2 ? 8_000 : round < 6 ? 30_000 : 1_200_000)
  }
}

/** All tabs show what the server has, and every write has an end. */
async function look(simulation: Simulation): Promise<void> {
  const { oracle, server, tabs, devices, plan } = simulation
  const stored = await server.rows('ada')
  const rows = new Map<string, Row>(stored.flatMap(({ t, id, p }) => (t === 'Note' ? [[id, rowOf(p)]] : [])))
  for (const tab of tabs) {
    const { name, client } = tab
    const { writes, data, storage, role } = client.status
    if (writes.pending > 0) oracle.fault(`in the end there are writes to send: ${writes.pending} in ${name}`)
    // A leader for which there was no room when it was opened finds out with the next change that there is.
    if (storage.kind !== 'durable' && role === 'follower' && !tab.hasNoDisk)
      oracle.fault(`in the end a tab that follows does not store its writes: ${name}`)
    if (data.state !== 'current') oracle.fault(`in the end the data is not current: ${data.state} in ${name}`)
    for (const id of ids) {
      if (oracle.mayHideRemoval(id)) continue
      if (textOf(tab.row(id)) !== textOf(rows.get(id)))
        oracle.fault(
          `in the end a tab does not show what the server has: ${name} shows ${id} as ${textOf(tab.row(id))}, not as ${textOf(rows.get(id))}`,
        )
    }
    const inbox = client.outbox.list({ state: 'rejected' })
    const hasWrite = inbox.some(({ id }) => oracle.writeOf(id))
    for (const { id, rejection } of inbox) {
      if (!rejection?.reason) oracle.fault(`in the end a refused write has no reason: ${name}`)
      // What was to be done again, on top of a write that waits there itself, waits with it. Without a disk, nothing is put in
      // the place of what was refused.
      const waits = (hasWrite && rejection?.reason === 'dependency_rejected') || tab.hasNoDisk
      if (!oracle.writeOf(id) && !waits)
        oracle.fault(`in the end a refused undo or redo waits in the inbox: ${rejection?.reason}`)
      if (oracle.log.history.accepted.has(id))
        oracle.fault(`in the end a write waits as refused that the server accepted: ${name}`)
    }
  }
  for (const write of oracle.writes) {
    const fate = simulation.fateOf(write)
    if (fate) oracle.fault(fate)
  }
  const busiest = busiestSecond(server.requests.map(({ at }) => at))
  const maxTabs = plan.tabs + devices.length - 1
  if (busiest > maxInASecond * maxTabs) oracle.fault(`requests come too fast: ${busiest} in a second`)
  if (plan.seed % 4 > 0) return
  const { length } = server.requests
  await simulation.advance(600_000)
  const most = plan.bare?.socket === false ? maxWithoutSocket : maxRequests
  const count = server.requests.length - length
  if (count > most * tabs.length)
    oracle.fault(`in the end requests keep coming: ${count} of ${tabs.length} tabs in ten minutes`)
}

/** Every tab is opened again, offline first: nothing old is shown, and nothing is sent again. */
async function restart(simulation: Simulation): Promise<void> {
  const { oracle, devices, plan } = simulation
  // A tab whose database is gone may lead, and stores nothing.
  const withoutDisk = new Set(simulation.tabs.flatMap(({ hasNoDisk, device }) => (hasNoDisk ? [device] : [])))
  for (const tab of simulation.tabs) {
    const isStored = !tab.client.status.storage.reason && !withoutDisk.has(tab.device)
    if (calmModes.has(plan.mode) && isStored) tab.device.synced = { at: 0, ...tab.last }
    await tab.close()
    simulation.left(tab)
  }
  await simulation.writeElsewhere(ids.map((id) => note(id, { n: simulation.next(), m: simulation.next() })))
  if (plan.endsRestored) await simulation.restore(0)
  for (const device of devices) device.cut()
  simulation.tell(
    `somebody else puts all; ${plan.endsRestored ? 'the server is restored; ' : ''}all tabs are opened again, offline at first`,
  )
  for (const [index] of devices.entries()) simulation.tab(index === 0 ? 0 : plan.tabs)
  await simulation.advance(1_000)
  for (const device of devices) device.mend()
  await settle(simulation, 1)
  if (oracle.faults.length === 0) await look(simulation)
}

/** The same run without the steps that its first fault does not need. */
export async function shortest(plan: Plan): Promise<Plan> {
  const [fault] = (await run(plan)).faults
  if (fault === undefined) return plan
  let best = plan
  for (let from = 0; from < best.steps.length; ) {
    const steps = best.steps.filter((_, index) => index !== from)
    const { faults } = await run({ ...best, steps })
    if (faults.some((one) => kindOf(one) === kindOf(fault))) best = { ...best, steps }
    else from += 1
  }
  return best
}

/** What a fault says, without its names and numbers. */
export function kindOf(fault: string): string {
  return fault.replace(/: .*/s, '')
}
