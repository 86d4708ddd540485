import type { LiveQuery, SyncClient } from 'instep'
import { rowOf, textOf } from './server-log.ts'

/** What an application makes of the events and of a live query of one client. */
export class Mirror {
  readonly #client: SyncClient
  readonly #onFault: (text: string) => void
  readonly #query: LiveQuery
  readonly #records = new Map<string, object>()

  constructor(client: SyncClient, onFault: (text: string) => void) {
    this.#client = client
    this.#onFault = onFault
    this.#query = client.query('Note', { orderBy: 'n' })
    this.#query.subscribe(() => {})
    client.on('change', (event) => {
      if (event.kind === 'snapshot') return this.#replace()
      for (const { type, id, before, after } of event.changes) {
        if (type !== 'Note') continue
        if (before !== this.#records.get(id)) onFault(`a change event has another record as before: ${id}`)
        if (after) this.#records.set(id, after)
        else this.#records.delete(id)
      }
    })
  }

  check(): void {
    const shown = textOfAll(this.#client.all('Note'))
    const queried = textOfAll(this.#query.rows)
    const told = textOfAll(this.#records.values())
    if (told !== shown) this.#onFault(`the change events do not say what is shown: ${told}, not ${shown}`)
    if (queried !== shown) this.#onFault(`a query does not have what is shown: ${queried}, not ${shown}`)
  }

  #replace(): void {
    this.#records.clear()
    for (const record of this.#client.all('Note')) this.#records.set(record.id, record)
  }
}

function textOfAll(records: Iterable<object>): string {
  return [...records]
    .map((record) => `${Reflect.get(record, 'id')} ${textOf(rowOf(record))}`)
    .sort()
    .join(', ')
}
