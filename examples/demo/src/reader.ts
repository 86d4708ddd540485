import { indexedDbStore, SyncClient, type Transaction } from 'instep'
import type { Cable } from './cable.ts'
import { isDisjoint } from './compare-edit.ts'
import { type Client, models } from './models.ts'
import { RecentChanges } from './recent-changes.ts'
import { RecentEdits } from './recent-edits.ts'
import { Store } from './store.ts'

/** Where the data first came from, and how long that took. */
export interface Opening {
  readonly from: 'disk' | 'server'
  readonly ms: number
}

/** How long a notice stays, in ms. */
const noticeMs = 10_000

/** A user's copy of the data, from its opening to its end. */
export class Reader {
  readonly user: string
  readonly client: Client
  readonly recent: RecentChanges
  readonly edits: RecentEdits
  /** In ms since the page was opened. */
  readonly openedAt = performance.now()
  readonly opening = new Store<Opening | undefined>(undefined)
  /** Whether what is on the disk is here, if there is anything. */
  readonly isRestored = new Store(false)
  /** What the user is to know for a while, beside the status; empty where it is nothing. */
  readonly notice = new Store('')
  readonly #cable: Cable
  #reconciled = Promise.resolve()

  constructor(user: string, cable: Cable) {
    this.user = user
    this.#cable = cable
    this.client = new SyncClient({
      baseUrl: '/sync/v1',
      identity: `atlas:${user}`,
      token: () => this.#signIn(),
      models,
      store: indexedDbStore(),
      environment: cable.environment,
    })
    this.recent = new RecentChanges(this.client)
    this.edits = new RecentEdits(this.client)
    this.client.on('reset', () => this.tell('The server has another history now: all was fetched anew.'))
    this.client.on('error', (error) => this.tell(error.message))
    this.client.on('rejected', (edit) => {
      // One after the other, since an edit may build on the one before. What fails stays in the inbox.
      this.#reconciled = this.#reconciled.then(() => this.#reconcile(edit)).catch(() => {})
    })
    this.#timeOpening()
    this.#awaitRestored()
  }

  /** Shows `notice` for a while. */
  tell(notice: string): void {
    this.notice.set(notice)
    setTimeout(() => {
      if (this.notice.get() === notice) this.notice.set('')
    }, noticeMs)
  }

  /** Two who changed different fields of a place both get their way; else the edit waits in the inbox. */
  async #reconcile(edit: Transaction): Promise<void> {
    if (edit.rejection?.reason !== 'conflict') return
    // What the others wrote is here then.
    await this.client.sync()
    if (edit.state === 'rejected' && isDisjoint(edit)) await this.client.outbox.retry(edit.id).settled
  }

  #timeOpening(): void {
    let from: Opening['from'] = 'disk'
    this.client.on('status', ({ data }) => {
      if (data.state === 'loading') from = 'server'
    })
    const done = () => this.opening.set({ from, ms: performance.now() - this.openedAt })
    // It fails where the client is closed before.
    this.client.ready().then(done, () => {})
  }

  #awaitRestored(): void {
    const done = () => this.isRestored.set(true)
    this.client.on('status', ({ lifecycle }) => {
      // The page has started it; to do so again is only to hear when that is done.
      if (lifecycle === 'running' && !this.isRestored.get()) this.client.start().then(done, () => {})
    })
  }

  async #signIn(): Promise<string> {
    const response = await this.#cable.fetch(`/token?user=${this.user}`)
    if (!response.ok) throw new Error(`There is no token for ${this.user}.`)
    return response.text()
  }
}
