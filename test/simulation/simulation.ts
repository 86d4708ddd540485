import type { TxOp } from 'instep'
import { type MockSyncServer, mockSyncServer, type VirtualClock } from 'instep/testing'
import type { Write } from './acts.ts'
import { Device } from './device.ts'
import { Oracle } from './oracle.ts'
import type { Plan } from './plan.ts'
import { Tab } from './tab.ts'

/** What others own, for a session in which somebody else has signed in. */
const other = 'ben'

/** A tab has so long, in ms, to store again what its user deleted. */
const storeAgainMs = 30_000

/** A server, Ada's devices before it, and the oracle that hears of all that is done. */
export class Simulation {
  readonly plan: Plan
  readonly server: MockSyncServer<VirtualClock>
  readonly oracle: Oracle
  readonly devices: readonly Device[]
  readonly story: string[] = []
  /** For whoever looks for a cause: called whenever time has gone by. */
  onAdvance: ((simulation: Simulation) => void) | undefined
  isServerUp = true
  readonly #tokens: Map<string, string>
  #count = 0

  static async open(plan: Plan): Promise<Simulation> {
    const simulation = new Simulation(plan)
    const [a, b] = [simulation.next(), simulation.next()]
    await simulation.writeElsewhere([
      note('a', { n: a }),
      note('b', { n: b }),
      marker(0),
      note('x', { n: simulation.next() }, other),
    ])
    return simulation
  }

  private constructor(plan: Plan) {
    this.plan = plan
    this.server = mockSyncServer({
      seed: plan.seed,
      ...(plan.bare && { bare: plan.bare }),
      heartbeatMs: 120_000,
      onCommit: (commit) => void this.oracle.committed(this.oracle.log.take(commit)),
      ...(plan.refuses && {
        authorize: ({ id }: { readonly id: string }) =>
          id === 'c' ? { message: 'Not this one.' } : undefined,
      }),
    })
    const { clock } = this.server
    this.oracle = new Oracle(() => clock.now(), plan)
    this.#tokens = new Map(['ada', other].map((identity) => [identity, this.server.token(identity)]))
    this.devices = ['first', ...(plan.hasSecondDevice ? ['second'] : [])].map(
      (name) =>
        new Device({
          name,
          server: this.server,
          plan,
          tokenOf: (identity) => this.#tokens.get(identity) ?? '',
          onSignIn: () => this.signIn(),
          sidOf: ({ id }) => this.oracle.log.history.sidOf(id),
          onStored: (txs) => this.oracle.stored(txs),
          onRefused: (tab) => this.oracle.refused(tab),
          onReceived: (txs, isOther) => this.oracle.received(txs, isOther),
          onAnswered: (results) => this.oracle.answered(results),
        }),
    )
  }

  get clock(): VirtualClock {
    return this.server.clock
  }

  get tabs(): readonly Tab[] {
    return this.devices.flatMap(({ openTabs }) => openTabs)
  }

  /** A number that was not there before. */
  next(): number {
    this.#count += 1
    return this.#count
  }

  /** Ada gets a new token. */
  signIn(): void {
    this.#tokens.set('ada', this.server.token('ada'))
    for (const device of this.devices) device.waitsForUser = false
  }

  /** Ada signs in, wherever she is. */
  resume(): void {
    this.signIn()
    this.tell('Ada signs in again')
    for (const { client } of this.tabs) client.resume()
  }

  tell(text: string): void {
    this.story.push(text)
  }

  device(index: number): Device {
    const device = this.devices[index < this.plan.tabs ? 0 : 1]
    if (!device) throw new RangeError(`There is no tab ${index}.`)
    return device
  }

  /** The tab of this number, opened if need be. */
  tab(index: number): Tab {
    const device = this.device(index)
    const before = device.tabs.get(index)
    before?.wake()
    if (before?.isOpen && !before.hasEnded) return before
    const letter = 'ABCD'[index] ?? '?'
    const life = before ? Number(before.name.slice(1) || 1) + 1 : 1
    const tab = new Tab(device, `${letter}${life > 1 ? life : ''}`, (text) => this.oracle.fault(text))
    tab.onKilled = () => this.left(tab)
    device.tabs.set(index, tab)
    device.note(this.isServerUp)
    return tab
  }

  async writeElsewhere(ops: readonly TxOp[]): Promise<void> {
    await this.server.write(ops).catch(() => {})
  }

  /** Puts a backup back: what there was at the history's state number `index`, counted from the newest. */
  async restore(index: number): Promise<void> {
    const { log } = this.oracle
    const { states } = log.history
    const { rows } = states[Math.max(0, states.length - 1 - index)] ?? { rows: new Map() }
    // Nothing is under way to the old history any more.
    this.server.down()
    await this.clock.advance(0)
    log.begin()
    const notes = [...rows].flatMap(([id, row]) => (row ? [note(id, row, id === 'x' ? other : 'ada')] : []))
    await this.server.restore([...notes, marker(log.history.number)])
    if (this.isServerUp) this.server.up()
  }

  /** Lets `ms` go by, and looks at every tab. */
  async advance(ms: number): Promise<void> {
    for (const device of this.devices) device.note(this.isServerUp)
    await this.clock.advance(ms)
    for (const tab of this.tabs) {
      if (tab.hasEnded && !tab.mayEnd && !this.plan.steps.some(({ what }) => what === 'sign out'))
        this.oracle.fault(`a tab has ended though its user has not signed out: ${tab.name}`)
      if (tab.hasEnded) await tab.close()
      else if (!tab.isStill) this.oracle.check(tab)
    }
    this.onAdvance?.(this)
  }

  /** What the disk of a device had is gone. Only open tabs have it, and can store it again. */
  cleared(device: Device): void {
    device.storeFineSince = undefined
    device.synced = undefined
    device.disk.hasOwner = false
    device.clearedAt = this.clock.now()
    for (const write of this.oracle.writes) {
      if (write.tab.device !== device) continue
      write.committed = undefined
      if (!write.tab.isOpen) write.isForgotten = true
    }
  }

  /** A frozen tab finds that its database was deleted: it may end, and what it has may be lost. */
  mayEnd(tab: Tab): void {
    tab.mayEnd = true
    for (const write of this.oracle.writes) if (write.tab === tab) write.isForgotten = true
  }

  /** A tab is gone. What its user had deleted, it can store no more. */
  left(tab: Tab): void {
    const { device } = tab
    const now = this.clock.now()
    const { clearedAt, storeFineSince = now } = device
    if (clearedAt === undefined) return
    const since = tab.isStill ? now : Math.max(storeFineSince, tab.awakeSince)
    if (!tab.hasNoDisk && now - since >= storeAgainMs) return
    for (const write of this.oracle.writes) {
      if (write.tab === tab && (tab.hasNoDisk || write.at <= clearedAt)) write.isForgotten = true
    }
  }

  /** What became of `write` that may not be left so. */
  fateOf(write: Write): string | undefined {
    const { name, transaction, told, tab, committed } = write
    const { log } = this.oracle
    if (log.history.accepted.has(transaction.id) || write.isUndone || write.isDiscarded) return undefined
    if (write.isForgotten || told.end === 'failed') return undefined
    const inInbox = this.tabs.some(({ client }) => client.outbox.get(transaction.id)?.rejection?.reason)
    if (inInbox) return undefined
    // What changed nothing leaves nothing to see, and nothing to do again after a restore.
    const isSeen = write.seenAt !== undefined || !log.hasChanged(transaction.id)
    if (log.wasAccepted(transaction.id) && isSeen) return undefined
    if (told.end === 'cancelled' && write.retryOf) return undefined
    if (told.end === 'cancelled') return `a write was cancelled that nobody undid: ${name}`
    const isOnDisk = told.stored !== undefined || committed !== undefined
    if (!isOnDisk && !tab.isOpen) return undefined
    if (log.histories.some(({ refused }) => refused.has(transaction.id)))
      return `a refused write is in no inbox: ${name}`
    return !isOnDisk
      ? `a write of a tab that is still open was lost: ${name}`
      : `a durable write was lost: ${name}`
  }
}

export function note(id: string, fields: Readonly<Record<string, number>>, owner = 'ada'): TxOp {
  return { op: 'i', put: true, t: 'Note', id, p: { ...fields, userId: owner } }
}

/** Says in the data itself which history it is of. */
function marker(n: number): TxOp {
  return { op: 'i', put: true, t: 'Meta', id: 'history', p: { n, userId: 'ada' } }
}
