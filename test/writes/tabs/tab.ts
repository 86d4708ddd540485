import { type MutateOptions, type Store, SyncClient, type Transaction } from '../../../src/index.ts'
import type { Mutator } from '../../../src/outbox/draft.ts'
import { type Office, officeUrl } from '../../support/office.ts'
import { slowStore } from '../../support/slow-store.ts'
import { FaultyStore } from '../../support/store-faults.ts'
import type { VirtualNetwork } from '../../support/virtual-network.ts'
import { type VirtualWorld, virtualWorld } from '../../support/virtual-world.ts'
import { modelsOf } from './models.ts'

export interface TabOptions {
  readonly office: Office
  readonly seed: number
  readonly disk: Store
  readonly network: VirtualNetwork
  /** Of its models. */
  readonly version: number
  /** Takes what may not happen, and did. */
  readonly faults: string[]
}

const takenBack: ReadonlySet<Transaction['state']> = new Set(['cancelled', 'discarded', 'rejected'])

/** One life of a tab, and what its user was told in it. */
export class Tab {
  readonly client: SyncClient
  readonly world: VirtualWorld
  /** The ids of what is on the disk, and of what was undone and will never happen. */
  readonly durable = new Set<string>()
  readonly withdrawn = new Set<string>()
  readonly #store: FaultyStore
  readonly #transactions = new Set<Transaction>()
  #left: readonly string[] | undefined

  constructor({ office, seed, disk, network, version, faults }: TabOptions) {
    const { clock } = office
    this.world = virtualWorld({ seed, clock, network })
    this.#store = new FaultyStore(slowStore(disk, clock, seed % 3 === 0 ? 40 : 0))
    this.client = new SyncClient({
      baseUrl: officeUrl,
      token: () => 'ada',
      identity: 'ada',
      store: this.#store.store,
      world: this.world,
      ...modelsOf(version),
      logger: { debug() {}, info() {}, warn() {}, error: (message) => faults.push(message) },
    })
    this.client.on('anomaly', ({ message }) => faults.push(message))
    this.client.outbox.subscribe(() => {
      for (const transaction of this.client.outbox.list()) this.#note(transaction)
    })
  }

  /** The ids of those that were undone, joined, discarded or rejected, as its user knows. */
  get takenBack(): readonly string[] {
    return this.#left ?? [...this.#transactions].flatMap(({ id, state }) => (takenBack.has(state) ? id : []))
  }

  /** Writes as the user does, unless that is refused at once. */
  write(body: (m: Mutator) => void, options: MutateOptions): void {
    unlessRefused(() => this.client.mutate((m) => body(m as Mutator), options))
  }

  retry({ id }: Transaction, edit: (m: Mutator) => void): void {
    unlessRefused(() => this.client.outbox.retry(id, (m) => edit(m as Mutator)))
  }

  undo(transaction: Transaction): void {
    this.#told(transaction.undo(), (inverse) => {
      if (!inverse && transaction.state === 'cancelled') this.withdrawn.add(transaction.id)
    })
  }

  /** Its user leaves it, and comes back. */
  show(): void {
    this.world.lifecycle.set({ visible: false })
    this.world.lifecycle.set({ visible: true })
  }

  /** Ends in the middle of whatever it does. */
  crash(): void {
    this.#left = this.takenBack
    this.#store.crash()
    void this.client.close()
  }

  #note(transaction: Transaction): void {
    if (this.#transactions.has(transaction)) return
    this.#transactions.add(transaction)
    this.#told(transaction.durable, () => this.durable.add(transaction.id))
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

function unlessRefused(write: () => unknown): void {
  try {
    write()
  } catch (error) {
    if (!(error instanceof Error && /^(Validation|Rejected)Error$/.test(error.name))) throw error
  }
}
