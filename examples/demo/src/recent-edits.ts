import type { Transaction } from 'instep'
import type { Client } from './models.ts'
import { Store } from './store.ts'

/** So many are shown. */
const maxShown = 3

/** The user's last edits, newest first: also those that have arrived, and so have left the outbox. */
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
    // An edit that is tried again takes the place of the one that was refused.
    const retried = new Set(added.map(({ retryOf }) => retryOf))
    const others = this.get().filter(({ id }) => !retried.has(id))
    this.set([...added.reverse(), ...others].slice(0, maxShown))
  }
}
