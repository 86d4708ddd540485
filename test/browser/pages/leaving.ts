import { indexedDbStore, SyncClient } from '../../../src/index.ts'
import { tell, tellFailures } from '../in-page.ts'

/** So often is the page still to be left. */
const times = Number(new URLSearchParams(location.search).get('times'))
const client = new SyncClient({
  baseUrl: location.origin,
  token: 'ada',
  identity: 'ada',
  store: indexedDbStore(),
})

tellFailures()
addEventListener('pagehide', () => {
  client.mutate((m) => m.insert('Note', { id: crypto.randomUUID(), text: 'x'.repeat(1_000) }))
})
await client.start()
if (times === 0) await tell({ type: 'found', value: client.outbox.list().length })
else setTimeout(() => location.replace(`?times=${times - 1}`), 100)
