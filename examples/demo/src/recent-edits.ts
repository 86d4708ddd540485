import type { Transaction } from 'instep'
import type { Client } from './models.ts'
import { Store } from './store.ts'

/** The maximum number of edits that are shown. */
const maxShown = 3

/** The user's last edits, newest first, including synced ones, which are no longer in the outbox. */
export class RecentEdits extends Store<readonly Transaction[]> {
  readonly #seen = new Set<string>()

  constructor({ outbox }: Pick<Client, 'outbox'>) {
    super([])
    outbox.subscribe(() => this.#add(outbox.list()))
  }

  #add(edits: readonly Transaction[]): void {
    const added = edits.filter(({ id }) => !this.#seen.has(id))
    if (added.length === 0) return
    for (const { id } of added) this.#seen.add(id)
    // A retried edit replaces the refused one.
    const retried = new Set(added.map(({ retryOf }) => retryOf))
    const others = this.get().filter(({ id }) => !retried.has(id))
    this.set([...added.reverse(), ...others].slice(0, maxShown))
  }
}
