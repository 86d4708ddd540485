import type { Environment } from '../base/environment.ts'
import { PendingMark } from '../persistence/pending-mark.ts'
import type { StorageStatus } from '../persistence/storage-status.ts'

export interface OriginStorageOptions {
  readonly environment: Pick<Environment, 'clock' | 'localStorage' | 'storageManager'>
  /** The name of the database. */
  readonly name: string
  readonly onChange: () => void
}

/** The browser's report on the storage of this origin, and whether it has deleted unsynced transactions. */
export class OriginStorage {
  readonly #manager: Environment['storageManager']
  readonly #mark: PendingMark | undefined
  readonly #onChange: () => void
  #status: Omit<StorageStatus, 'kind'> = {}

  constructor({ environment, name, onChange }: OriginStorageOptions) {
    const { clock, localStorage, storageManager } = environment
    this.#onChange = onChange
    this.#manager = storageManager
    this.#mark = localStorage && new PendingMark(localStorage, clock, name)
  }

  get status(): Omit<StorageStatus, 'kind'> {
    return this.#status
  }

  /** The database is open. `isNew`: it did not exist before. */
  opened(isNew: boolean): void {
    const lost = this.#mark?.found ?? 0
    if (isNew) this.lose(lost)
    void this.read()
  }

  /** The browser has deleted the database, with `lost` unsynced transactions in it. */
  lose(lost: number): void {
    if (lost > 0) this.#status = { ...this.#status, lost }
  }

  /** Notes the number of pending transactions. `undefined`: another client notes it. */
  note(pending: number | undefined): void {
    this.#mark?.set(pending)
  }

  /** Asks the browser again. Never rejects. */
  async read(): Promise<void> {
    const [persisted, estimate] = await Promise.all([
      this.#manager?.persisted?.().catch(() => undefined),
      this.#manager?.estimate?.().catch(() => undefined),
    ])
    const { usage, quota } = estimate ?? {}
    this.#status = {
      ...this.#status,
      ...(persisted !== undefined && { persisted }),
      ...(usage !== undefined && { usage }),
      ...(quota !== undefined && { quota }),
    }
    this.#onChange()
  }

  /** Asks the browser to keep the data. Resolves with whether it does. */
  async requestPersistence(): Promise<boolean> {
    // Do not wait before this call: a browser may ask the user only while it handles a click.
    const isKept = await this.#manager?.persist?.().catch(() => false)
    await this.read()
    return isKept ?? false
  }

  close(): void {
    this.#mark?.close()
  }
}
