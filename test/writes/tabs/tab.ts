import {
  type MutateOptions,
  type Store,
  SyncClient,
  type SyncClientOptions,
  type Transaction,
} from '../../../src/index.ts'
import type { Mutator } from '../../../src/mutations/draft.ts'
import type { LocalTransaction } from '../../../src/mutations/transaction.ts'
import { ClosableStore } from '../../support/closable-store.ts'
import type { JumpingClock } from '../../support/jumping-clock.ts'
import { type Office, officeUrl } from '../../support/office.ts'
import { slowStore } from '../../support/slow-store.ts'
import { FaultyStore } from '../../support/store-faults.ts'
import { type VirtualWorld, virtualWorld } from '../../support/virtual-environment.ts'
import type { VirtualNetwork } from '../../support/virtual-network.ts'
import type { History } from '../simulation/history.ts'
import { modelsOf } from './models.ts'

export interface TabOptions extends Pick<SyncClientOptions, 'txCodec'> {
  readonly office: Office
  readonly clock: JumpingClock
  readonly seed: number
  readonly disk: Store
  readonly network: VirtualNetwork
  /** Of its models. */
  readonly version: number
  /** Takes what may not happen, and did. */
  readonly faults: string[]
  readonly histories: readonly History[]
  readonly polls: boolean
  readonly lazy: boolean
  /** Gives what is written in place of a rejected one. */
  readonly merge: (() => number) | undefined
}

const takenBack: ReadonlySet<Transaction['state']> = new Set(['cancelled', 'discarded', 'rejected', 'failed'])

/** One life of a tab, and what its user was told in it. */
export class Tab {
  readonly client: SyncClient
  readonly world: VirtualWorld<JumpingClock>
  readonly store: FaultyStore
  readonly engine: ClosableStore
  /** The ids of what is on the disk, and of what was undone and will never happen. */
  readonly durable = new Set<string>()
  readonly withdrawn = new Map<string, string>()
  readonly synced = new Set<string>()
  readonly crashed: Promise<void>
  loaded: boolean
  readonly #transactions = new Set<Transaction>()
  readonly #options: TabOptions
  #left: readonly string[] | undefined

  constructor(options: TabOptions) {
    const { clock, seed, disk, network, version, faults, polls, lazy, merge, txCodec } = options
    this.#options = options
    this.loaded = !lazy
    this.world = {
      ...virtualWorld({ seed, clock, network }),
      ...(polls && { WebSocket: undefined }),
    }
    this.store = new FaultyStore(slowStore(disk, clock, seed % 3 === 0 ? 40 : 0))
    this.crashed = this.store.crashed
    this.engine = new ClosableStore(this.store.store)
    this.client = new SyncClient({
      baseUrl: officeUrl,
      token: () => 'ada',
      identity: 'ada',
      store: this.engine.store,
      world: this.world,
      ...(txCodec && { txCodec }),
      ...(merge && {
        merge: ({ records: [record], rejection }) =>
          rejection?.reason === 'dependency_rejected' || !record
            ? undefined
            : (m) => m.put(record.t, { id: record.id === '0' ? '1' : record.id, n: merge() }),
      }),
      ...modelsOf(version, lazy ? 'lazy' : 'eager'),
      logger: { debug() {}, info() {}, warn() {}, error: (message) => faults.push(message) },
    })
    this.client.on('anomaly', ({ message }) => faults.push(message))
    this.client.outbox.subscribe(() => {
      for (const transaction of this.client.outbox.list()) this.#note(transaction)
    })
  }

  get seen(): readonly string[] {
    return [...this.#transactions].map(({ id }) => id)
  }

  /** The ids of those that were undone, joined, discarded or rejected, as its user knows. */
  get takenBack(): readonly string[] {
    return this.#left ?? [...this.#transactions].flatMap(({ id, state }) => (takenBack.has(state) ? id : []))
  }

  /** Writes as the user does, unless that is refused at once. */
  write(body: (m: Mutator) => void, options: MutateOptions): void {
    unlessRefused(() => this.client.mutate((m) => body(m as Mutator), options))
  }

  retry({ id }: Transaction, edit?: (m: Mutator) => void): void {
    unlessRefused(() => {
      const again = this.client.outbox.retry(id, edit && ((m) => edit(m as Mutator)))
      this.#told(again.durable, () => this.withdrawn.set(id, 'tried again'))
    })
  }

  discard({ id }: Transaction): void {
    this.#told(this.client.outbox.discard(id), () => this.withdrawn.set(id, 'discarded'))
  }

  undo(transaction: Transaction): void {
    this.#told(transaction.undo(), (inverse) => {
      if (!inverse && transaction.state === 'cancelled') this.withdrawn.set(transaction.id, 'cancelled')
    })
  }

  load(): void {
    this.#told(this.client.load('Note'), () => {
      this.loaded = true
    })
  }

  /** Lets it work again. Resolves once it shows what is stored, or what has come. */
  async heal(): Promise<void> {
    this.store.disarm()
    this.engine.refusals = 0
    await this.client.start()
    await this.client.load('Note')
    this.loaded = true
  }

  /** Its user leaves it, and comes back. */
  show(): void {
    this.world.lifecycle.set({ visible: false })
    this.world.lifecycle.set({ visible: true })
  }

  /** What is confirmed was true, and what is shown is that, with what is pending on top. */
  check(): void {
    const { client } = this
    const { faults, histories, lazy } = this.#options
    if (!this.loaded) return
    const { lastSyncId } = client
    const confirmed: { [id: string]: object | undefined } = {}
    const shown: { [id: string]: object | undefined } = {}
    for (const id of ['0', '1', '2']) {
      confirmed[id] = client.confirmed('Note', id)?.p
      const { id: _, ...fields } = client.get('Note', id) ?? { id }
      if (client.get('Note', id)) shown[id] = fields
    }
    const truths = histories.map((one) => {
      const truth = one.truthAt('ada', lastSyncId)
      return Object.fromEntries(['0', '1', '2'].map((id) => [id, withoutId(truth[`Note ${id}`])]))
    })
    const [is, ...may] = [confirmed, ...truths].map(canonical)
    // A lazy type may come from the disk as another tab has left it there since.
    if (!lazy && !may.includes(is ?? ''))
      faults.push(`at ${lastSyncId}: ${is} is confirmed, not ${may.join(' or ')}`)
    const expected = { ...confirmed }
    for (const one of client.outbox.list()) {
      if (one.state === 'rejected') continue
      for (const op of (one as LocalTransaction).record.ops) {
        const now = expected[op.id]
        if (op.op === 'd') expected[op.id] = undefined
        else if (op.op === 'i') expected[op.id] = op.put || !now ? op.p : now
        else if (now) expected[op.id] = { ...now, ...op.p }
      }
    }
    if (canonical(shown) !== canonical(expected))
      faults.push(`at ${lastSyncId}: ${canonical(shown)} is shown, not ${canonical(expected)}`)
  }

  /** Ends in the middle of whatever it does. */
  crash(): void {
    this.leave()
    this.store.crash()
    void this.client.close()
  }

  leave(): void {
    this.#left = this.takenBack
  }

  #note(transaction: Transaction): void {
    if (this.#transactions.has(transaction)) return
    this.#transactions.add(transaction)
    this.#told(transaction.durable, () => {
      if (this.client.status.storage.kind === 'durable') this.durable.add(transaction.id)
    })
    this.#told(transaction.synced, () => this.synced.add(transaction.id))
  }

  /** What comes after a crash is told to nobody. */
  #told<T>(promise: Promise<T>, listener: (value: T) => void): void {
    promise.then(
      (value) => {
        if (!this.#left) listener(value)
      },
      () => {},
    )
  }
}

function withoutId(row: object | undefined): object | undefined {
  if (!row) return undefined
  const { id: _, ...rest } = row as { id: unknown }
  return rest
}

/** Without what a migration may have changed, and whose it is. */
export function canonical(rows: object): string {
  const sorted = (object: object) =>
    Object.entries(object)
      .filter(([key, value]) => key !== 'version' && key !== 'userId' && value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(sorted(rows).map(([id, row]) => [id, sorted(Object(row))]))
}

function unlessRefused(write: () => unknown): void {
  try {
    write()
  } catch (error) {
    if (!(error instanceof Error && /^(Validation|Rejected)Error$/.test(error.name))) throw error
  }
}
