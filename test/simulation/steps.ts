import type { SyncClient, Transaction } from 'instep'
import type { Act, Kind, Write } from './acts.ts'
import { late, lost } from './answers.ts'
import { lineTroubles } from './line-steps.ts'
import type { Oracle } from './oracle.ts'
import { pageDeeds } from './page-steps.ts'
import type { Deed, Step } from './plan.ts'
import { note, type Simulation } from './simulation.ts'
import { storeDeeds } from './store-deeds.ts'
import { storeTroubles } from './stores.ts'
import type { Tab } from './tab.ts'

export interface Moment {
  readonly simulation: Simulation
  /** Of a record. */
  readonly id: Step['id']
  readonly n: number
  /** The tab's number. */
  readonly index: number
}

/** After so long without any trouble, in ms, a write has no reason to fail. */
const calmMs = 60_000

const happenings: Record<Deed, (moment: Moment) => unknown> = {
  insert: (moment) => write(moment, 'insert'),
  update: (moment) => write(moment, 'update'),
  'update in another tab': (moment) => {
    const { simulation, index } = moment
    if (index < simulation.plan.tabs)
      write({ ...moment, index: (index + 1) % simulation.plan.tabs }, 'update')
  },
  put: (moment) => write(moment, 'put'),
  delete: (moment) => write(moment, 'delete'),
  undo: (moment) => (moment.simulation.plan.undoesInSteps ? undoLast(moment) : undoOne(moment)),
  redo: redoLast,
  decide,
  'update elsewhere': ({ simulation, id, n }) => {
    const fields = fieldsOf(simulation, n)
    simulation.tell(`somebody else updates ${id} ${JSON.stringify(fields)}`)
    return simulation.writeElsewhere([{ op: 'u', t: 'Note', id, p: fields }])
  },
  'put elsewhere': ({ simulation, id, n }) => {
    const fields = fieldsOf(simulation, n)
    simulation.tell(`somebody else puts ${id} ${JSON.stringify(fields)}`)
    return simulation.writeElsewhere([note(id, fields)])
  },
  'delete elsewhere': ({ simulation, id }) => {
    simulation.tell(`somebody else deletes ${id}`)
    return simulation.writeElsewhere([{ op: 'd', t: 'Note', id }])
  },
  show: ({ simulation, index }) => {
    const tab = simulation.tab(index)
    simulation.tell(`${tab.name} comes to the front`)
    tab.show()
  },
  open: ({ simulation, index }) => simulation.tell(`${simulation.tab(index).name} is open`),
  async close({ simulation, index }) {
    const tab = simulation.device(index).tabs.get(index)
    if (!tab?.isOpen) return
    simulation.tell(`${tab.name} closes`)
    await tab.close()
    simulation.left(tab)
  },
  crash: ({ simulation, index }) => {
    const tab = simulation.device(index).tabs.get(index)
    if (!tab?.isOpen) return
    simulation.tell(`${tab.name} crashes`)
    tab.crash()
    simulation.left(tab)
  },
  reopen: async ({ simulation, index, id, n }) => {
    const { tabs } = simulation.plan
    if (n % 2 === 0 || index >= tabs || tabs === 1) return
    // What was written before has ended on the disk by then.
    await simulation.advance(3_000)
    for (const what of ['crash', 'open'] as const) happenings[what]({ simulation, index, id, n })
  },
  stop: async ({ simulation, index }) => {
    const tab = simulation.tab(index)
    tab.isStopped = !tab.isStopped
    simulation.tell(`${tab.name} ${tab.isStopped ? 'stops' : 'starts again'}`)
    await simulation.clock.until(tab.isStopped ? tab.client.stop() : tab.client.start())
  },
  cut: ({ simulation, index }) => {
    const device = simulation.device(index)
    simulation.tell(`the ${device.name} device ${device.isCut ? 'has a network again' : 'loses its network'}`)
    if (device.isCut) device.mend()
    else device.cut()
  },
  'server down': ({ simulation }) => {
    const { server } = simulation
    simulation.isServerUp = !simulation.isServerUp
    simulation.tell(`the server is ${simulation.isServerUp ? 'up' : 'down'}`)
    if (simulation.isServerUp) server.up()
    else server.down()
  },
  'lose an answer': ({ simulation, index }) => {
    const device = simulation.device(index)
    simulation.tell(`the next answer to the ${device.name} device gets lost`)
    device.answers.push({ endpoint: 'tx', answer: lost })
  },
  'delay an answer': ({ simulation, index }) => {
    const device = simulation.device(index)
    simulation.tell(`the next answer to the ${device.name} device is late`)
    device.answers.push({ endpoint: 'tx', answer: late })
  },
  restore: ({ simulation, n }) => {
    simulation.tell(`the server is restored without its last ${n % 4} changes`)
    return simulation.restore(n % 4)
  },
  'new epoch': ({ simulation }) => {
    simulation.tell('the server has a new epoch')
    simulation.server.changeEpoch()
  },
  trim: ({ simulation }) => {
    simulation.tell('the server forgets its changes')
    return simulation.server.trim()
  },
  'close the store': ({ simulation, index }) => {
    const device = simulation.device(index)
    simulation.tell(`the engine closes the store of the ${device.name} device`)
    device.disk.engine.close('all')
    device.storeFineSince = undefined
  },
  'clear the store': ({ simulation, index }) => {
    const device = simulation.device(index)
    // Nothing would say any more whose tabs it opens while somebody else is signed in, or that its user has signed out.
    if (device.signedIn !== device.identity || device.openTabs.some(({ life }) => life < device.life)) return
    simulation.tell(`the user clears the store of the ${device.name} device`)
    device.disk.engine.close('nothing')
    simulation.cleared(device)
  },
  'store trouble': ({ simulation, index, n }) => {
    const device = simulation.device(index)
    device.disk.trouble = device.disk.trouble ? undefined : storeTroubles[n % storeTroubles.length]
    const { trouble } = device.disk
    simulation.tell(`the store of the ${device.name} device ${trouble ?? 'takes writes again'}`)
  },
  ...lineTroubles,
  ...storeDeeds,
  ...pageDeeds,
  'somebody else signs in': ({ simulation, index }) => {
    const device = simulation.device(index)
    // A tab whose disk names no owner, or cannot be read, takes whoever answers first for its user.
    const isBlind = ({ history, client }: Tab) => history === undefined && client.status.storage.reason
    if (!device.disk.hasOwner || device.disk.isSilent || device.openTabs.some(isBlind)) return
    device.signedIn = device.signedIn === 'ada' ? 'ben' : 'ada'
    device.disk.beforeRefusal = undefined
    simulation.tell(`${device.signedIn} signs in on the ${device.name} device`)
  },
}

export async function take(simulation: Simulation, { what, tab: index, id, n, ms }: Step): Promise<void> {
  await happenings[what]({ simulation, index, id, n })
  if (ms >= 1_000) simulation.tell(`${ms / 1_000} s later`)
  await simulation.advance(ms)
}

function fieldsOf(simulation: Simulation, n: number): Record<string, number> {
  const which = n % 4
  return { ...(which !== 3 && { n: simulation.next() }), ...(which > 1 && { m: simulation.next() }) }
}

function write(
  { simulation, index, n, ...rest }: Moment,
  kind: Kind,
  retried?: { tab: Tab; write: Write },
): void {
  const { oracle, clock } = simulation
  const tab = retried?.tab ?? simulation.tab(index)
  const id = retried?.write.id ?? rest.id
  const fields = kind === 'delete' ? {} : fieldsOf(simulation, n)
  const { history, client } = tab
  const base = tab.row(id)
  const ifUnchanged = simulation.plan.hasConditions && n % 3 === 0
  const body: Parameters<SyncClient['mutate']>[0] = (m) => {
    if (kind === 'insert') m.insert('Note', { id, ...fields })
    else if (kind === 'update') m.update('Note', id, fields, { ifUnchanged })
    else if (kind === 'put') m.put('Note', { id, ...fields }, { ifUnchanged })
    else m.delete('Note', id, { ifUnchanged })
  }
  let transaction: Transaction
  try {
    transaction = retried ? client.outbox.retry(retried.write.transaction.id, body) : client.mutate(body)
  } catch (error) {
    if (error instanceof Error && /^(Validation|Rejected)Error$/.test(error.name)) return
    throw error
  }
  if (transaction.records.length === 0) return
  const made: Write = {
    name: `w${oracle.writes.length + 1}`,
    transaction,
    tab,
    at: clock.now(),
    kind,
    id,
    fields,
    base,
    confirmed: history === undefined ? undefined : oracle.log.histories[history]?.at(client.lastSyncId, id),
    ifUnchanged,
    sid: client.lastSyncId,
    retryOf: retried?.write,
    history: oracle.log.history.number,
    dataOf: history,
    offlineSince: tab.device.offlineSince,
    befores: [],
    told: {},
    committed: undefined,
    place: 0,
    wasRefused: tab.isRefused,
    seenAt: undefined,
    isGone: false,
    isTraceless: false,
    isUndone: false,
    isDiscarded: false,
    isForgotten: false,
    overSince: undefined,
  }
  if (tab.life < tab.device.life) oracle.ended(made)
  const what = retried ? `retries ${retried.write.name} by putting` : `${kind}s`
  simulation.tell(
    `${made.name}: ${tab.name} ${what} ${id} ${kind === 'delete' ? '' : JSON.stringify(fields)}`,
  )
  oracle.wrote(made)
  tab.done.push({ write: made, isCertain: true })
  tab.undone = []
  hear(simulation, made)
}

/** Notes what the user of a write is told. After a crash, nobody is. */
function hear(simulation: Simulation, made: Write): void {
  const { transaction, tab, told, kind, name } = made
  const { oracle, clock } = simulation
  const { id } = transaction
  const note = (make: () => void) => () => {
    if (tab.isOpen) make()
  }
  const ignore = () => {}
  transaction.durable.then(
    note(() => {
      told.durable = clock.now()
      const isOnDisk = tab.client.status.storage.kind === 'durable' && !oracle.log.wasAccepted(id)
      if (isOnDisk) told.stored = clock.now()
    }),
    ignore,
  )
  transaction.synced.then(ignore, ignore)
  transaction.subscribe(
    note(() => {
      const { state } = transaction
      if (state === 'accepted' || state === 'synced') {
        if (kind !== 'delete' && !oracle.log.wasAccepted(id))
          oracle.fault(`a user was told of an acceptance that never was: ${name}`)
      }
      if (state === 'synced') told.synced ??= clock.now()
      if (['synced', 'failed', 'cancelled', 'rejected', 'discarded'].includes(state)) {
        told.end = state
        told.endAt ??= clock.now()
      } else {
        delete told.end
        delete told.endAt
      }
      // A tab that is closed or stopped can try nothing more.
      if (state === 'failed' && !tab.isClosing && !tab.isStopped) judgeFailure(simulation, made)
    }),
  )
}

/** A write that nobody undid may fail where neither the disk nor the server takes it. */
function judgeFailure(
  { oracle }: Simulation,
  { name, at, isUndone, overSince, retryOf, tab: { device, awakeSince, mayEnd } }: Write,
): void {
  const { reachableSince = Number.POSITIVE_INFINITY, storeFineSince = Number.POSITIVE_INFINITY } = device
  // A page that stood still in the middle of a transaction finds that its store has not answered for long.
  if (isUndone || mayEnd || device.isSigningOut || overSince !== undefined || at - awakeSince < calmMs) return
  // A retry that no disk takes is not sent: its rejected write stays in the inbox, and its user decides again.
  if (!retryOf && at - reachableSince >= calmMs)
    oracle.fault(`a write failed though the network is fine: ${name}`)
  if (at - storeFineSince >= calmMs) oracle.fault(`a write failed though the store takes writes: ${name}`)
}

/** Undoes one transaction of this device, by the tab that made it or another one that holds it. */
function undoOne({ simulation, index, n }: Moment): void {
  const tab = simulation.tab(index)
  const held = simulation.oracle.writes.filter((one) => one.tab.device === tab.device && tab.find(one))
  const one = held.at(-1 - (n % Math.min(3, held.length || 1)))
  const transaction = one && tab.find(one)
  if (!one || !transaction || one.isUndone) return
  simulation.tell(`${tab.name} undoes ${one.name}`)
  noteUndo(simulation, tab, [one], transaction.undo())
}

/** Undoes the last step. Which one that is can be uncertain: a refusal may not have been heard of yet. */
function undoLast({ simulation, index }: Moment): void {
  const tab = simulation.tab(index)
  const targets: Write[] = []
  for (const { write, isCertain, isAgain } of [...tab.done].reverse()) {
    const { end } = write.told
    // What was cancelled and done again is a write of its own, which the user was not told of.
    if (end !== undefined && end !== 'synced' && !(isAgain && end === 'cancelled')) continue
    targets.push(write)
    const isRefused = simulation.oracle.log.histories.some(({ refused }) => refused.has(write.transaction.id))
    if (isCertain && !isRefused) break
  }
  if (targets.length === 0) return
  simulation.tell(`${tab.name} undoes its last step: ${targets.map(({ name }) => name).join(' or ')}`)
  const isCertain = targets.length === 1
  const [newest] = targets
  tab.done = tab.done.filter(({ write }) => write !== newest)
  // Only one of them is undone now: the next undo may be of an older one.
  for (const entry of tab.done) entry.isCertain &&= !targets.includes(entry.write)
  tab.undone = tab.undone.filter(({ write }) => !targets.includes(write))
  for (const write of targets) tab.undone.push({ write, isCertain })
  noteUndo(simulation, tab, targets, tab.client.undo())
}

function noteUndo(
  { oracle, clock, plan, isServerUp }: Simulation,
  tab: Tab,
  targets: readonly Write[],
  undoing: Promise<unknown>,
): void {
  const { device } = tab
  const wish = oracle.undos.wish({ does: 'undo', targets, tab }, undoing, () => clock.now())
  for (const write of targets) {
    const act: Act = {
      does: 'undo',
      write,
      tab,
      without: [...oracle.without(tab, write)],
      isCertain: false,
      wasSynced: write.told.synced !== undefined,
      at: clock.now(),
      sid: tab.client.lastSyncId,
    }
    const isAll = targets.length === 1 && showsAllOf(tab, write)
    oracle.acts.push(act)
    write.isUndone = true
    undoing.then(
      () => {
        // Where the disk hangs, an undo waits, and takes back what its write lies over by then.
        const below = clock.now() > act.at ? oracle.without(tab, write) : []
        for (const one of oracle.acts) if (one.write === write && one.tab === tab) one.without.push(...below)
        if (wish.outcome === 'nothing') forget(oracle, act)
        if (!tab.isOpen || targets.length > 1) return
        act.isCertain =
          wish.outcome !== 'nothing' && isAll && !plan.steps.some(({ what }) => what.includes('store'))
        device.note(isServerUp)
        if (wish.outcome === 'nothing') return
        // Of a disk that was cleared, nobody knows whether another tab has sent the write.
        const isOffline = write.offlineSince !== undefined && write.offlineSince === device.unreachableSince
        if (isOffline && (device.clearedAt ?? Number.NEGATIVE_INFINITY) < write.at) write.isTraceless = true
      },
      () => {},
    )
  }
}

/** There was nothing to take back. */
function forget({ acts }: Oracle, act: Act): void {
  const { write, tab } = act
  acts.splice(acts.indexOf(act), 1)
  write.isUndone = acts.some((one) => one.write === write && one.does === 'undo')
  // Which step comes next is not certain from now on.
  for (const entry of [...tab.done, ...tab.undone]) entry.isCertain = false
}

/** Whether the record is, in all that `write` wrote, as it left it. */
function showsAllOf(tab: Tab, { id, kind, fields }: Write): boolean {
  const row = tab.row(id)
  if (kind === 'delete') return row === undefined
  return row !== undefined && Object.keys(fields).every((field) => row[field] === fields[field])
}

/** Does the step again that was undone last. */
function redoLast({ simulation, index }: Moment): void {
  const { oracle, clock, plan } = simulation
  const tab = simulation.tab(index)
  const last = plan.undoesInSteps ? tab.undone.at(-1) : undefined
  if (!last) return
  const targets = last.isCertain ? [last] : tab.undone
  tab.undone = tab.undone.filter((one) => !targets.includes(one))
  simulation.tell(`${tab.name} redoes ${targets.map(({ write: { name } }) => name).join(' or ')}`)
  for (const { write } of targets) {
    tab.done.push({ write, isCertain: false, isAgain: true })
    const without = oracle.acts.flatMap((act) =>
      act.write === write && act.does === 'undo' ? act.without : [],
    )
    oracle.acts.push({
      does: 'redo',
      write,
      tab,
      without,
      isCertain: false,
      wasSynced: false,
      at: clock.now(),
      sid: tab.client.lastSyncId,
    })
  }
  const redoing = tab.client.redo()
  const writes = targets.map(({ write }) => write)
  oracle.undos.wish({ does: 'redo', targets: writes, tab }, redoing, () => clock.now())
}

/** Tries a rejected write again, or gives it up. */
function decide(moment: Moment): void {
  const { simulation, index, n } = moment
  const { oracle } = simulation
  const tab = simulation.tab(index)
  const rejected = tab.client.outbox.list({ state: 'rejected' })
  const transaction = rejected[n % (rejected.length || 1)]
  if (!transaction) return
  const one = oracle.writeOf(transaction.id)
  if (one) one.isDiscarded = true
  if (one && n % 2 === 0) write(moment, 'put', { tab, write: one })
  else {
    simulation.tell(`${tab.name} discards ${one?.name ?? 'what was refused'}`)
    tab.client.outbox.discard(transaction.id).catch(() => {})
  }
}
