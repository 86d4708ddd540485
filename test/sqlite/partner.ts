import Database from 'libsql'
import { SyncClient } from '../../src/index.ts'
import { sqliteStore } from '../../src/sqlite/index.ts'

/*
 * A process with a client: `partner.ts <folder> <base URL>`. It says its role and the notes that it has, whenever that
 * changes. Once it has the note `ping`, it writes the note `pong`, and says when that is synced.
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

const notes = client.query('Note', { orderBy: 'id' })
const sayAll = () => say({ role: client.status.role, ids: notes.rows.map(({ id }) => id) })
client.on('status', sayAll)
notes.subscribe(() => {
  sayAll()
  if (client.get('Note', 'ping') && !client.get('Note', 'pong')) {
    void client.mutate((m) => m.insert('Note', { id: 'pong' })).synced.then(() => say({ synced: 'pong' }))
  }
})
await client.start()
