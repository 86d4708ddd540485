import { indexedDbStore, SyncClient } from '../../../src/index.ts'

/** Writes without pause, and says on the console which transactions are durable. */
const client = new SyncClient({
  baseUrl: new URLSearchParams(location.search).get('service') ?? '',
  token: 'ada',
  identity: 'ada',
  store: indexedDbStore(),
})
let isWriting = true

const strikes = {
  /** Sets the field `tab` of one of ten records after the other to 1, 2, 3, … */
  async write(tab: string): Promise<void> {
    await client.start()
    await client.ready()
    for (let n = 1; isWriting; n += 1) {
      const transaction = client.mutate((m) => m.update('Note', `r${n % 10}`, { [tab]: n }))
      transaction.durable.then(
        () => console.log(`durable ${transaction.id}`),
        () => {},
      )
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  },
  stop(): void {
    isWriting = false
  },
  role: () => client.status.role,
  /** All that is shown, and how much is unsent. */
  state: () => ({
    pending: client.status.writes.pending,
    rows: JSON.stringify(client.query('Note', { orderBy: 'id' }).rows),
  }),
}

export type Strikes = typeof strikes

Object.assign(globalThis, { strikes })
