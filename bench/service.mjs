// Measures the service: `instep serve` on a PostgreSQL of its own. `node service.mjs --help` says how.
import { cpus, loadavg } from 'node:os'
import { readOptions } from './options.mjs'
import { bench } from './service/bench.mjs'
import { measureBootstrap } from './service/bootstrap.mjs'
import { measureFairness, measureSnapshots } from './service/fairness.mjs'
import { measureFanOut } from './service/fan-out.mjs'
import { measureOthers } from './service/others.mjs'
import { measureOwners, measureTeams } from './service/owners.mjs'
import { measureStart } from './service/start.mjs'
import { measureTables } from './service/tables.mjs'
import { measureTransactions } from './service/transactions.mjs'

const parts = {
  bootstrap: (options) => measureBootstrap(options),
  sockets: (options) => measureFanOut({ ...options, owners: 1, socketsEach: 50, perSecond: 10 }),
  owners: (options) => measureFanOut({ ...options, owners: 2_000, socketsEach: 1, perSecond: 200 }),
  teams: (options) => measureTeams(options),
  many: (options) => measureOwners(options),
  transactions: (options) => measureTransactions(options),
  others: (options) => measureOthers(options),
  fairness: (options) => measureFairness(options),
  snapshots: (options) => measureSnapshots(options),
  start: (options) => measureStart(options),
  tables: (options) => measureTables(options),
}

const help = `Usage: node service.mjs [options]

  --only a,b     some of: ${Object.keys(parts).join(', ')}
  --rows N       rows of the bootstrap (100000)
  --rounds N     how often all but the writes at a pace are measured; medians are shown (5)
  --seconds N    how long writes go on at a given pace (30)
  --where a,b    of fairness and snapshots: some of PostgreSQL, folder
  --help         this

  bootstrap      a snapshot without compression, beside psql reading the same batches of the same cursor to /dev/null
  sockets        50 sockets of one owner at 10 writes a second: from the POST to the last socket's message
  owners         2 000 owners with a socket each at 200 writes a second: from the POST to the owner's message
  teams          500 sockets of callers with 20 owners each at 100 writes a second: from the POST to the last message
  many           deltas and snapshots of a caller with 20 owners, beside one owner with as much, in turns
  transactions   transactions a second, beside the same statements, recorded and sent again without the service
  others         how long another user's writes, its socket and /healthz wait meanwhile, on a folder and on PostgreSQL,
                 median and maximum: with nothing else, long records changed, many inserts, and a snapshot of \`--rows\`
  fairness       the same for writes of records and of rows, deltas and /healthz, on PostgreSQL and on a folder, while one
                 user, and then ten, do what costs most, for \`--seconds\` each; and the memory of the service
  snapshots      the same while 20 users of one team fetch \`--rows\` rows at once
  tables         what attached tables cost the application, and how soon a client has a change of theirs
  start          from the command to \`listening\`, embedded, on a folder that is not there yet and on one that is

It starts a PostgreSQL with its default settings (fsync is on), the service, and what loads it, each in a process of its
own, on this machine. It prints a table. Linux, and the programs of PostgreSQL, are needed.`

const { only, ...more } = readOptions(help, {
  only: Object.keys(parts),
  rows: 100_000,
  rounds: 5,
  seconds: 30,
  where: ['PostgreSQL', 'folder'],
})

const load = () => `load ${loadavg()[0].toFixed(1)}`
const table = []
const { postgres, stop, ...tools } = await bench()
try {
  for (const name of only) {
    const say = (text) => console.error(`${name}: ${text} (${load()})`)
    say('begins')
    const database = await postgres.database(name)
    const options = { ...tools, database, say, postgres }
    table.push(...(await parts[name]({ ...options, ...more })))
  }
} finally {
  await stop()
}
const [{ model = 'unknown processor' } = {}] = cpus()
console.log(
  `Node ${process.version}, ${cpus().length} × ${model}, ${load()}\n\n| | measured | to reach |\n|---|---|---|`,
)
for (const row of table) console.log(`| ${row.join(' | ')} |`)
