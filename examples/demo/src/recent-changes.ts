import type { ChangeEvent, SyncClient } from 'instep'
import { Store } from './store.ts'

/** The time that a change stays marked, in ms. Must equal the duration of the animation in `style/base.css`. */
const markedMs = 2_500

/** The ids of the records that have just changed. */
export class RecentChanges extends Store<ReadonlySet<string>> {
  constructor(client: Pick<SyncClient, 'on'>) {
    super(new Set())
    client.on('change', (event) => this.#mark(event))
  }

  #mark(event: ChangeEvent): void {
    if (event.kind !== 'delta') return
    const ids = event.changes.map(({ id }) => id)
    this.set(new Set([...this.get(), ...ids]))
    setTimeout(() => {
      const rest = new Set(this.get())
      for (const id of ids) rest.delete(id)
      this.set(rest)
    }, markedMs)
  }
}
