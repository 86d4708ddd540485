import Database from 'libsql'
import { SyncClient } from '../../src/index.ts'
import { sqliteStore } from '../../src/sqlite/index.ts'

/*
 * A process that writes notes for ever without a network: `offline-writer.ts <folder> <base URL>`. It says the id of each
 * once that is durable, and the first time all that it found, as `{found}`.
 */

const [folder = '', baseUrl = ''] = process.argv.slice(2)
const say = (said: object) => console.log(JSON.stringify(said))

const client = new SyncClient({
  baseUrl,
  token: 'ada',
  identity: 'ada',
  store: sqliteStore({ folder, open: (path) => new Database(path) }),
  logger: { debug() {}, info() {}, warn() {}, error: (message) => console.error(message) },
})
await client.start()
const begun = client.count('Note')
say({ found: begun })
for (let n = begun; ; n += 1) {
  const id = `${n}`
  await client.mutate((m) => m.insert('Note', { id, n })).durable
  say({ id })
}
