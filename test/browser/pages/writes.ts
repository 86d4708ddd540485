import { indexedDbStore, SyncClient, type Transaction } from '../../../src/index.ts'
import { tell, tellFailures } from '../in-page.ts'
import { watchForDrops } from '../watch-drops.ts'

const params = new URLSearchParams(location.search)
// The first visit writes.
const drops = watchForDrops(!params.has('write'))

const client = new SyncClient({
  baseUrl: params.get('service') ?? '',
  token: 'ada',
  identity: 'ada',
  store: indexedDbStore(),
  pollInterval: 500,
})

/** Waits for what the client comes to. */
function until(condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!condition()) return
      stop()
      stopOutbox()
      resolve()
    }
    const stop = client.on('status', look)
    const stopOutbox = client.outbox.subscribe(look)
    look()
  })
}

function write(from: number, count: number): readonly Transaction[] {
  return Array.from({ length: count }, (_, n) =>
    client.mutate((m) => {
      m.insert('Note', { id: `n${from + n}`, text: 'x'.repeat(1_000) })
      const total = m.get('Total', 'all')
      m.put('Total', { id: 'all', notes: Number(total?.notes ?? 0) + 1 })
    }),
  )
}

const found = () => ({
  notes: client.all('Note').map(({ id }) => id),
  total: client.get('Total', 'all')?.notes ?? 0,
  pending: client.outbox.list().map(({ id }) => id),
})

tellFailures()
await client.start()
await tell({ type: 'found', value: { ...found(), dropped: [...drops.values()][0] } })
if (params.has('write')) {
  await until(() => client.status.connection.state === 'socket')
  await tell({ type: 'live' })
  if (params.get('write') === 'offline') await until(() => client.status.connection.state === 'offline')
  const transactions = write(client.count('Note'), Number(params.get('count')))
  await Promise.all(transactions.map(({ durable }) => durable))
  await tell({ type: 'durable', value: transactions.map(({ id }) => id) })
} else {
  await until(() => client.status.writes.pending === 0 && client.status.connection.state === 'socket')
  await tell({ type: 'sent', value: found() })
}
