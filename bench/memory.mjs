// Measures the copy in memory, its index and its queries, in Node: no network, no disk. `node memory.mjs --help` says how.
import { imported } from './bundle.mjs'
import { readOptions } from './options.mjs'

const help = `Usage: node memory.mjs [options]

  --rows N       rows of the snapshot (100000)
  --rounds N     how often each is measured; the best is shown (21)
  --help         this

Prints a table, in ms.`

const { rows, rounds } = readOptions(help, { rows: 100_000, rounds: 21 })
const { SyncClient } = await imported("export { SyncClient } from 'instep'")

const row = (n) => ({
  t: 'Issue',
  id: `i${n}`,
  p: { title: `Issue ${n}`, status: n % 10 ? 'closed' : 'open', createdAt: n, text: 'x'.repeat(300) },
})
const snapshot = JSON.stringify({ sid: 1, rows: Array.from({ length: rows }, (_, n) => row(n)) })
let delta = ''
const fetch = async (url) => new Response(url.includes('/delta') ? delta : snapshot)

/** Prints the best time of `rounds`. */
async function measure(what, work) {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now()
    await work()
    best = Math.min(best, performance.now() - began)
  }
  console.log(`| ${what} | ${best.toFixed(2)} |`)
}

console.log(`${rows} rows, the best of ${rounds}, in ms\n\n| | Node, memory |\n|---|---|`)
await measure('parsing the snapshot', async () => JSON.parse(await (await fetch('/bootstrap')).text()))

const schema = { '~standard': { version: 1, vendor: 'none', validate: (value) => ({ value }) } }
const client = new SyncClient({
  baseUrl: 'https://api.example.com/sync/v1',
  models: { Issue: { schema, options: { indexes: [['status', 'createdAt']] } } },
  environment: { fetch, WebSocket: undefined },
})
await client.sync()
const indexed = { where: { status: 'open' }, orderBy: [['createdAt', 'desc']], limit: 50 }
const scanned = { where: { status: { ne: 'open' } }, orderBy: 'title', limit: 50 }
await measure('first result of a query, by the index', () => client.query('Issue', indexed).rows)
await measure('first result of a query, by every record', () => client.query('Issue', scanned).rows)

for (const spec of [indexed, scanned]) {
  const live = client.query('Issue', spec)
  live.subscribe(() => live.rows)
}
let sid = 1
for (const frames of [1, 100, 5_000]) {
  await measure(`delta of ${frames}, parsed and applied, with two live queries`, () => {
    sid += 1
    const frame = (n) => ({ sid, op: 'u', t: 'Issue', id: `i${n % rows}`, p: { title: `${n} of ${sid}` } })
    delta = JSON.stringify({ sid, frames: Array.from({ length: frames }, (_, n) => frame(n)) })
    return client.sync()
  })
}
await client.close()
