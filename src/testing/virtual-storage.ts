import type { LocalStorageLike, StorageManagerLike } from '../base/environment.ts'

/** The storage of an origin as a browser reports it, set by a test. */
export class VirtualStorageManager implements StorageManagerLike {
  /** The number of stored bytes. */
  usage = 0
  /** The maximum number of stored bytes. It is not enforced. */
  quota = 10_000_000_000
  /** Whether the browser keeps the data. */
  isPersisted = false
  /** Whether the browser agrees to keep the data when it is asked to. */
  grants = true

  async estimate(): Promise<{ readonly usage: number; readonly quota: number }> {
    return { usage: this.usage, quota: this.quota }
  }

  async persisted(): Promise<boolean> {
    return this.isPersisted
  }

  async persist(): Promise<boolean> {
    this.isPersisted ||= this.grants
    return this.isPersisted
  }
}

/** The `localStorage` of an origin. */
export class VirtualLocalStorage implements LocalStorageLike {
  readonly #items = new Map<string, string>()

  getItem(key: string): string | null {
    return this.#items.get(key) ?? null
  }

  setItem(key: string, value: string): void {
    this.#items.set(key, value)
  }

  removeItem(key: string): void {
    this.#items.delete(key)
  }

  /** Removes everything, as when the user clears the data of the site. */
  clear(): void {
    this.#items.clear()
  }
}
