import { memoryStore, SyncClient, silentLogger, type Transaction } from '../../src/index.ts'
import { signToken } from '../../src/server/index.ts'

export interface WritingClientOptions {
  readonly baseUrl: string
  readonly secret: string
  readonly owner: string
  /** Tells it from the owner's other clients. */
  readonly name: string
}

/** A client that writes one transaction after the other: of its own records, and of one that all of its owner share. */
export class WritingClient {
  readonly owner: string
  readonly name: string
  readonly client: SyncClient
  readonly transactions: Transaction[] = []

  static async start(options: WritingClientOptions): Promise<WritingClient> {
    const token = await signToken({ secret: options.secret, userId: options.owner })
    const writing = new WritingClient(options, token)
    await writing.client.start()
    return writing
  }

  private constructor({ baseUrl, owner, name }: WritingClientOptions, token: string) {
    this.owner = owner
    this.name = name
    this.client = new SyncClient({
      baseUrl,
      token,
      identity: `${owner}/${name}`,
      store: memoryStore(),
      logger: silentLogger,
      pollInterval: 1_000,
    })
  }

  get pending(): number {
    return this.client.status.writes.pending
  }

  /** Writes the next transaction, of two frames. */
  write(): void {
    const n = this.transactions.length
    const own = `${this.owner}-${this.name}`
    this.transactions.push(
      this.client.mutate((m) => {
        m.update('Board', `${this.owner}-board`, { [this.name]: n })
        if (n % 3 === 0) m.insert('Note', { id: `${own}-${n}`, text: 'new', n })
        else if (n % 3 === 1) m.update('Note', `${own}-${n - 1}`, { text: 'changed', n })
        else m.delete('Note', `${own}-${n - 2}`)
      }),
    )
  }
}
