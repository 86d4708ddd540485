import type { Transaction } from '../../../src/index.ts'
import type { Simulation } from './simulation.ts'

/** What a device was told of one transaction of its user's. */
interface Entry {
  transaction: Transaction
  /** Where it stood as its process died. */
  last: Transaction['state'] | undefined
  durable: boolean
  /** It was told, and found to be true, that the data shows it. */
  synced: boolean
  /** It was told that it will never happen. */
  withdrawn: boolean
}

/** All that the user of one device did, over its restarts. */
export class Ledger {
  readonly #simulation: Simulation
  readonly #entries = new Map<string, Entry>()

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  has(id: string): boolean {
    return this.#entries.has(id)
  }

  /** Whether its user made `later` after `id`, in whatever order a clock that was set has put them. */
  follows(later: string, id: string): boolean {
    const ids = [...this.#entries.keys()]
    return ids.indexOf(later) > ids.indexOf(id)
  }

  get transactions(): readonly Transaction[] {
    return [...this.#entries.values()].map(({ transaction }) => transaction)
  }

  /** Takes in what is new among `transactions`, `position` being how far the data of their client is. */
  note(transactions: readonly Transaction[], position: () => number): void {
    for (const transaction of transactions) {
      const known = this.#entries.get(transaction.id)
      if (known?.transaction === transaction) continue
      const entry = known ?? { transaction, last: undefined, durable: false, synced: false, withdrawn: false }
      entry.transaction = transaction
      entry.last = undefined
      this.#entries.set(transaction.id, entry)
      this.#follow(entry, transaction, position)
    }
  }

  /** It was undone, or replaced, and never sent; `done` resolves once the disk knows, too. */
  withdraw({ id, state }: Transaction, done: Promise<unknown>): void {
    const entry = this.#entries.get(id)
    if (!entry || state !== 'cancelled') return
    done.then(
      () => {
        entry.withdrawn = true
      },
      () => {},
    )
  }

  /** Its process died: what it makes of its transactions from now on, nobody is told. */
  end(): void {
    for (const entry of this.#entries.values()) entry.last ??= entry.transaction.state
  }

  /** Nothing that was durable is gone without a reason, where `outbox` is what its client has. */
  check(outbox: ReadonlySet<string>, position: number): readonly string[] {
    return [...this.#entries.values()].flatMap((entry) => this.#faultsOf(entry, outbox, position))
  }

  #faultsOf(entry: Entry, outbox: ReadonlySet<string>, position: number): readonly string[] {
    const { transaction, last, durable, synced, withdrawn } = entry
    const { id, state: now } = transaction
    const state = last ?? now
    const { histories } = this.#simulation
    if (withdrawn && this.#simulation.wasAccepted(id)) return [`${id} was cancelled, and happened`]
    if (!durable || synced || outbox.has(id) || takenBack.has(state)) return []
    if (histories.some(({ accepted }) => (accepted.get(id) ?? Number.POSITIVE_INFINITY) <= position)) {
      entry.synced = true
      return []
    }
    return [`${id} was durable, and is lost (${state})`]
  }

  #follow(entry: Entry, transaction: Transaction, position: () => number): void {
    transaction.durable.then(
      () => {
        entry.durable = true
      },
      () => {},
    )
    const { histories, faults } = this.#simulation
    const check = () => {
      if (transaction.state !== 'synced') return
      const { id } = transaction
      const sids = histories.flatMap(({ accepted }) => accepted.get(id) ?? [])
      if (!sids.some((sid) => sid <= position())) faults.push(`${id} is told to be synced at ${position()}`)
      entry.synced = true
    }
    check()
    transaction.subscribe(check)
  }
}

const takenBack: ReadonlySet<Transaction['state']> = new Set(['failed', 'cancelled', 'discarded'])
