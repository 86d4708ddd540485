import { indexedDbStore, SyncClient } from 'instep'
import { Cable } from './cable.ts'
import { models } from './models.ts'
import { RecentChanges } from './recent-changes.ts'
import { Store } from './store.ts'

/** Where the data first came from, and how long that took. */
export interface Opening {
  readonly from: 'disk' | 'server'
  readonly ms: number
}

/** How long a notice stays, in ms. */
const noticeMs = 10_000

/** A user with a copy of the data and a cable to the server. */
export class Reader {
  readonly user: string
  readonly cable: Cable
  readonly client: SyncClient<typeof models.definitions>
  readonly recent: RecentChanges
  readonly opening = new Store<Opening | undefined>(undefined)
  /** What the user is to know for a while, beside the status; empty where it is nothing. */
  readonly notice = new Store('')

  constructor(user: string) {
    this.user = user
    this.cable = new Cable(user)
    this.client = new SyncClient({
      baseUrl: '/sync/v1',
      identity: `atlas:${user}`,
      token: () => this.#signIn(),
      models,
      store: indexedDbStore(),
      world: this.cable.world,
    })
    this.recent = new RecentChanges(this.client)
    this.client.on('reset', () => this.#tell('The server has another history now: all was fetched anew.'))
    this.client.on('error', (error) => this.#tell(error.message))
  }

  /** Resolves once what is on disk is restored. */
  async start(): Promise<void> {
    const began = performance.now()
    await this.client.start()
    const from = this.client.status.data.state === 'none' ? 'server' : 'disk'
    void this.client.ready().then(() => this.opening.set({ from, ms: performance.now() - began }))
  }

  #tell(notice: string): void {
    this.notice.set(notice)
    setTimeout(() => {
      if (this.notice.get() === notice) this.notice.set('')
    }, noticeMs)
  }

  async #signIn(): Promise<string> {
    const response = await this.cable.fetch(`/token?user=${this.user}`)
    if (!response.ok) throw new Error(`There is no token for ${this.user}.`)
    return response.text()
  }
}
