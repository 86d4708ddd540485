import { indexedDbStore, SyncClient, type Transaction } from 'instep'
import type { Cable } from './cable.ts'
import { isDisjoint } from './compare-edit.ts'
import { type Client, models } from './models.ts'
import { RecentChanges } from './recent-changes.ts'
import { RecentEdits } from './recent-edits.ts'
import { Store } from './store.ts'

/** The source of the first data, and the time until the data was shown. */
export interface Opening {
  readonly from: 'disk' | 'server'
  readonly ms: number
}

/** The time that a notice is shown, in ms. */
const noticeMs = 10_000

/** A user's copy of the data: one client, and the state of the page that belongs to it. */
export class Reader {
  readonly user: string
  readonly client: Client
  readonly recent: RecentChanges
  readonly edits: RecentEdits
  /** When the reader was created, in ms since the page was opened. */
  readonly openedAt = performance.now()
  readonly opening = new Store<Opening | undefined>(undefined)
  /** Whether the data on the disk, if any, has been restored. */
  readonly isRestored = new Store(false)
  /** A temporary notice for the user; empty if there is none. */
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
    this.client.on('reset', () =>
      this.showNotice('The server has another history now, so all data was fetched again.'),
    )
    this.client.on('error', (error) => this.showNotice(error.message))
    this.client.on('rejected', (edit) => {
      // Handle edits one after the other, since an edit may build on the one before. A failed retry stays in the inbox.
      this.#reconciled = this.#reconciled.then(() => this.#reconcile(edit)).catch(() => {})
    })
    this.#timeOpening()
    this.#awaitRestored()
  }

  /** Shows `notice` for a while. */
  showNotice(notice: string): void {
    this.notice.set(notice)
    setTimeout(() => {
      if (this.notice.get() === notice) this.notice.set('')
    }, noticeMs)
  }

  /** Retries an edit that conflicts only with changes of other fields. Any other edit stays in the inbox. */
  async #reconcile(edit: Transaction): Promise<void> {
    if (edit.rejection?.reason !== 'conflict') return
    // Fetch the conflicting changes first.
    await this.client.sync()
    if (edit.state === 'rejected' && isDisjoint(edit)) await this.client.outbox.retry(edit.id).settled
  }

  #timeOpening(): void {
    let from: Opening['from'] = 'disk'
    this.client.on('status', ({ data }) => {
      if (data.state === 'loading') from = 'server'
    })
    const done = () => this.opening.set({ from, ms: performance.now() - this.openedAt })
    // `ready` rejects if the client is closed first.
    this.client.ready().then(done, () => {})
  }

  #awaitRestored(): void {
    const done = () => this.isRestored.set(true)
    this.client.on('status', ({ lifecycle }) => {
      // The page has started the client. Calling `start` again only waits for the end of restoring.
      if (lifecycle === 'running' && !this.isRestored.get()) this.client.start().then(done, () => {})
    })
  }

  async #signIn(): Promise<string> {
    const response = await this.#cable.fetch(`/token?user=${this.user}`)
    if (!response.ok) throw new Error(`There is no token for ${this.user}.`)
    return response.text()
  }
}
