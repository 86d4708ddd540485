import { type LiveQuery, SyncClient, type SyncClientOptions } from '../../src/index.ts'

/** A client that counts who reads it and listens to it. */
export class WatchedClient extends SyncClient {
  /** How many queries were made, ever. */
  queries = 0
  /** How often a query was subscribed to, ever. */
  subscriptions = 0
  /** How often a record was read, ever. */
  reads = 0
  /** The types that were waited for, ever. */
  readonly loads: string[] = []
  /** How many listen now: to queries, events and the outbox. */
  listeners = 0

  constructor(options: SyncClientOptions) {
    super(options)
    const { subscribe } = this.outbox
    Object.assign(this.outbox, { subscribe: (listener: () => void) => this.#count(subscribe(listener)) })
  }

  override on: SyncClient['on'] = (name, listener) => this.#count(super.on(name, listener))

  override get: SyncClient['get'] = (t, id) => {
    this.reads += 1
    return super.get(t, id)
  }

  override load: SyncClient['load'] = (t, options) => {
    this.loads.push(t)
    return super.load(t, options)
  }

  override query: SyncClient['query'] = (t, spec) => {
    const query = super.query(t, spec)
    this.queries += 1
    const subscribe: (typeof query)['subscribe'] = (listener) => {
      this.subscriptions += 1
      return this.#count(Object.getPrototypeOf(query).subscribe.call(query, listener))
    }
    return Object.assign<typeof query, Partial<LiveQuery>>(query, { subscribe } as Partial<LiveQuery>)
  }

  #count(undo: () => void): () => void {
    let counted = true
    this.listeners += 1
    return () => {
      if (counted) this.listeners -= 1
      counted = false
      undo()
    }
  }
}
