import { expect } from 'vitest'
import { type MutateOptions, type Store, SyncClient, type Transaction } from '../../../src/index.ts'
import type { Mutator } from '../../../src/mutations/draft.ts'
import type { OutboxRecord } from '../../../src/persistence/outbox.ts'
import { ClosableStore } from '../../support/closable-store.ts'
import type { JumpingClock } from '../../support/jumping-clock.ts'
import { slowStore } from '../../support/slow-store.ts'
import { FaultyStore } from '../../support/store-faults.ts'
import { type VirtualEnvironment, virtualEnvironment } from '../../support/virtual-environment.ts'
import { VirtualNetwork } from '../../support/virtual-network.ts'
import type { SimulatedDevice } from './device.ts'
import type { History, Shown } from './history.ts'
import { keys, type Simulation, types } from './simulation.ts'

/** A field as its user wrote it last; without a transaction while it is being written. */
interface Own {
  readonly value: unknown
  readonly transaction: Transaction | undefined
}

const over: ReadonlySet<Transaction['state']> = new Set(['failed', 'cancelled', 'rejected', 'discarded'])

/** One life of a client, and its user, who looks at every moment. */
export class Process {
  readonly client: SyncClient
  readonly network: VirtualNetwork
  readonly environment: VirtualEnvironment<JumpingClock>
  readonly store: FaultyStore
  readonly engine: ClosableStore
  dead = false
  readonly #simulation: Simulation
  readonly #device: SimulatedDevice
  readonly #own = new Map<string, Own>()
  /** As they were when nothing was in the middle of happening. */
  readonly #records = new Map<string, OutboxRecord>()
  #comparing = false

  constructor(simulation: Simulation, device: SimulatedDevice, disk: Store) {
    const { clock, server, options, faults } = simulation
    this.#simulation = simulation
    this.#device = device
    this.network = new VirtualNetwork({ clock, server })
    this.network.chunkMs = options.chunkMs
    this.environment = {
      ...virtualEnvironment({ seed: simulation.next(), clock: device.clock, network: this.network }),
      ...(options.sockets ? undefined : { WebSocket: undefined }),
    }
    this.store = new FaultyStore(slowStore(disk, clock, simulation.next() % 3 === 0 ? 40 : 0))
    this.engine = new ClosableStore(this.store.store)
    this.client = new SyncClient({
      baseUrl: 'https://office.test/sync/v1',
      token: () => device.token,
      onUnauthenticated: () => (options.signsInAtOnce ? device.signIn() : undefined),
      identity: device.user,
      store: this.engine.store,
      environment: this.environment,
      logger: { debug() {}, info() {}, warn() {}, error: (message) => faults.push(message) },
    })
    for (const t of types) this.client.query(t, { orderBy: 'n' }).subscribe(() => this.#look())
    this.client.on('change', ({ kind }) => {
      if (kind === 'snapshot') {
        const [history, ...others] = this.#historiesOf(this.#confirmed)
        device.history = others.length === 0 ? history : undefined
      }
      this.#look()
    })
    this.client.on('anomaly', ({ message }) => faults.push(message))
    this.client.outbox.subscribe(() => this.#note())
    void this.store.crashed.then(() => this.die())
  }

  get shown(): Shown {
    return Object.fromEntries(
      types.flatMap((t) => this.client.all(t).map((record) => [`${t} ${record.id}`, record])),
    )
  }

  /** The transactions that this life of the device knows. */
  get transactions(): readonly Transaction[] {
    return this.#device.ledger.transactions.filter(({ id }) => this.#records.has(id))
  }

  /** Writes as the user does, and remembers what. Gives nothing where that is refused at once. */
  write(
    body: (m: Mutator, own: (t: string, id: string, fields: object) => void) => void,
    options: MutateOptions,
  ): Transaction | undefined {
    const before = this.shown
    const written = new Set<string>()
    const own = (t: string, id: string, fields: object) => {
      for (const [field, value] of Object.entries(fields)) {
        const name = `${t} ${id} ${field}`
        written.add(name)
        this.#own.set(name, { value, transaction: undefined })
      }
    }
    const waiting = this.client.outbox.list()
    try {
      const transaction = this.client.mutate((m) => body(m as Mutator, own), options)
      for (const name of written) {
        const own = this.#own.get(name)
        if (own) this.#own.set(name, { ...own, transaction })
      }
      for (const one of waiting) this.#device.ledger.withdraw(one, transaction.durable)
      this.#look()
      return transaction
    } catch (error) {
      expect(error).toMatchObject({ name: expect.stringMatching(/^(Validation|Rejected)Error$/) })
      expect(this.shown).toEqual(before)
      this.forget()
      return undefined
    }
  }

  /** What the user wrote, of all records or of one, may become something else from now on. */
  forget(record = ''): void {
    for (const name of this.#own.keys()) if (name.startsWith(record)) this.#own.delete(name)
  }

  undo(transaction: Transaction): void {
    this.forget()
    const done = transaction.undo()
    this.#device.ledger.withdraw(transaction, done)
    done.catch(() => {})
  }

  /** What holds whenever nothing is in the middle of happening. */
  async check(): Promise<void> {
    const { client } = this
    this.#note()
    for (const record of (await client.outbox.export()).transactions) this.#records.set(record.id, record)
    const waiting = client.outbox.list()
    const rejected = waiting.filter(({ state }) => state === 'rejected').length
    expect(client.status.writes).toMatchObject({ pending: waiting.length - rejected, rejected })
    expect(this.#device.ledger.check(new Set(waiting.map(({ id }) => id)), client.lastSyncId)).toEqual([])
    this.#compare()
  }

  async heal(): Promise<void> {
    const { network, store, environment, client } = this
    network.mend()
    network.latencyMs = 20
    network.chunkMs = 0
    store.disarm()
    this.#device.signIn()
    environment.lifecycle.set({ online: false, visible: true })
    await client.start()
    client.resume()
    environment.lifecycle.set({ online: true })
  }

  /** Ends in the middle of whatever it does. */
  die(): void {
    if (this.dead) return
    this.dead = true
    this.#device.ledger.end()
    this.network.cut()
    this.store.crash()
    void this.client.close()
  }

  async quit(): Promise<void> {
    const { clock } = this.#simulation
    this.store.disarm()
    await clock.until(this.client.close())
    this.dead = true
    await clock.advance(60_000)
    const { network, environment } = this
    expect([network.calls, network.sockets, environment.lifecycle.listeners]).toEqual([0, 0, 0])
  }

  #note(): void {
    if (!this.dead) this.#device.ledger.note(this.client.outbox.list(), () => this.client.lastSyncId)
  }

  /** What is seen now, in the middle of a change; and soon, when all of it has been told. */
  #look(): void {
    if (this.dead) return
    for (const [name, own] of this.#own) this.#lookAt(name, own)
    if (this.#comparing) return
    this.#comparing = true
    void Promise.resolve().then(() => {
      this.#comparing = false
      // An undo is made once more before it is sent.
      const isUndo = ({ id }: Transaction) => this.#records.get(id)?.isUndo
      if (!this.dead && !this.client.outbox.list().some(isUndo)) this.#compare()
    })
  }

  /** The field is what the user wrote, or what was confirmed after that. */
  #lookAt(name: string, { value, transaction }: Own): void {
    const [t = '', id = '', field = ''] = name.split(' ')
    const { user, history } = this.#device
    const record = this.client.get(t, id)
    const now = record?.[field]
    if (now === value || !transaction || over.has(transaction.state)) return
    // What a service that was put back says cannot be told from what it would have said before.
    if (history !== this.#simulation.history) return
    if (history.saidSince(transaction.id, user, `${t} ${id}`, field, now)) return
    if (transaction.state === 'synced' && !history.accepted.has(transaction.id)) return
    // What is shown of a record that went is nothing.
    if (record === undefined && transaction.state !== 'synced') return
    void Promise.resolve().then(() => {
      // What is taken back may be told a little later than it is shown.
      if (over.has(transaction.state)) return
      const told = `${transaction.id} (${transaction.state})`
      this.#simulation.faults.push(`${name} showed ${String(now)}, not ${String(value)} of ${told}`)
    })
  }

  get #confirmed(): Shown {
    return Object.fromEntries(
      keys.flatMap(({ t, id, key }) => {
        const confirmed = this.client.confirmed(t, id)
        return confirmed ? [[key, { ...confirmed.record }]] : []
      }),
    )
  }

  /** In which it is true; in one at least. */
  #historiesOf(confirmed: Shown): readonly History[] {
    const { histories, faults } = this.#simulation
    const { lastSyncId, status } = this.client
    const { user } = this.#device
    const truthOf = (one: History) => one.truthAt(user, lastSyncId)
    // What has come of a first snapshot is a part of what was true, at a position that is still to come.
    const isPart = status.data.state === 'none' || status.data.state === 'loading'
    const isTrueIn = (one: History) =>
      isPart
        ? one.had(user, (truth) => same(only(truth, confirmed), confirmed))
        : same(truthOf(one), confirmed)
    const found = histories.filter(isTrueIn)
    if (found.length === 0) {
      const truths = JSON.stringify(histories.map(truthOf))
      faults.push(`at ${lastSyncId}: ${JSON.stringify(confirmed)} is confirmed, not ${truths}`)
    }
    return found
  }

  /** What is confirmed was true at its position, and what is shown is that with what is pending on top. */
  #compare(): void {
    const { client } = this
    const { faults } = this.#simulation
    const { lastSyncId } = client
    const confirmed = this.#confirmed
    this.#historiesOf(confirmed)
    const pending = client.outbox.list().filter(({ state }) => state !== 'rejected')
    if (!pending.every(({ id }) => this.#records.has(id))) return
    const expected = laidOver(
      confirmed,
      pending.flatMap(({ id }) => this.#records.get(id)?.ops ?? []),
    )
    if (!same(this.shown, expected)) {
      faults.push(`at ${lastSyncId}: ${JSON.stringify(this.shown)} is shown, not ${JSON.stringify(expected)}`)
    }
  }
}

/** As plainly as possible. */
function laidOver(confirmed: Shown, ops: OutboxRecord['ops']): Shown {
  const shown: { [key: string]: Shown[string] | undefined } = { ...confirmed }
  for (const op of ops) {
    const key = `${op.t} ${op.id}`
    if (op.op === 'd') shown[key] = undefined
    else if (op.op === 'i') shown[key] = op.put || !shown[key] ? { ...op.p, id: op.id } : shown[key]
    else if (shown[key]) shown[key] = { ...shown[key], ...op.p }
  }
  return Object.fromEntries(Object.entries(shown).flatMap(([key, row]) => (row ? [[key, row]] : [])))
}

/** What `shown` has of the records of `others`. */
function only(shown: Shown, others: Shown): Shown {
  return Object.fromEntries(Object.entries(shown).filter(([key]) => key in others))
}

function same(a: Shown, b: Shown): boolean {
  return canonical(a) === canonical(b)
}

function canonical(shown: Shown): string {
  const sorted = (object: object) => Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(sorted(shown).map(([key, row]) => [key, sorted(row)]))
}
