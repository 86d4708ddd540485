import { ClosedError } from '../base/errors.ts'
import type { OutboxChange, OutboxRecord } from '../database/outbox.ts'
import type { LocalTransaction } from '../outbox/transaction.ts'
import type { LocalDisk } from './local-disk.ts'
import type { Settlement } from './settlement.ts'

export interface DiskOutboxOptions {
  readonly disk: LocalDisk
  /** Resolves once the disk is open, or cannot be opened. */
  readonly opened: () => Promise<void>
  readonly settlement: Settlement
  /** Records of the type are wanted. */
  readonly use: (t: string) => void
  /** Lays transactions, in their order, over the data. */
  readonly show: (transactions: readonly LocalTransaction[]) => void
}

/** The transactions on disk, where other clients of the same data keep theirs, too. */
export class DiskOutbox {
  readonly #options: DiskOutboxOptions
  #reading: Promise<void> | undefined
  #isSealed = false

  constructor(options: DiskOutboxOptions) {
    this.#options = options
  }

  /** Resolves once those are here that are on an open disk. Rejects where they cannot be read; the next call tries again. */
  read(): Promise<void> {
    this.#reading ??= this.#read().catch((error) => {
      this.#reading = undefined
      throw error
    })
    return this.#reading
  }

  /** The same, once the disk is open. */
  async open(): Promise<void> {
    await this.#options.opened()
    if (this.#isSealed && !this.#reading) throw new ClosedError()
    await this.read()
  }

  /** Takes in what other clients have made of them. Rejects where it cannot. */
  async readOthers(): Promise<void> {
    const { disk, settlement } = this.#options
    const { outbox } = disk.database
    await settlement.stored()
    const { records, ids, gone } = await outbox.readOthers((id) => settlement.knows(id))
    this.#found(records)
    settlement.compare(ids, gone)
  }

  /** One as it is on disk now: `gone` once another client has seen its end. */
  async storedOf({ id }: LocalTransaction): Promise<OutboxRecord | 'gone' | undefined> {
    const { disk, settlement } = this.#options
    const { outbox } = disk.database
    await settlement.stored()
    return outbox.find(id).catch(() => undefined)
  }

  /** Changes them. A store without room gives up the data for them, which can be fetched again. */
  async write(change: OutboxChange): Promise<readonly string[]> {
    const { disk, opened } = this.#options
    await opened()
    return disk.writeOutbox(change)
  }

  /** Reads nothing any more that is not here yet. Resolves once what is being read is. */
  async seal(): Promise<void> {
    this.#isSealed = true
    await this.#reading?.catch(() => {})
  }

  async #read(): Promise<void> {
    const { disk, settlement } = this.#options
    const { records, unreadable } = await disk.database.outbox.read()
    settlement.leave(unreadable)
    this.#found(records)
  }

  #found(records: readonly OutboxRecord[]): void {
    const { settlement, use, show } = this.#options
    for (const { t } of records.flatMap(({ ops }) => ops)) use(t)
    settlement.found(records, show)
  }
}
