import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { load, median, percentile } from './bench.mjs'

/** The rows of each table before the `COPY`. */
const rows = 100_000
const copied = 1_000_000
const teams = 100
const writers = 8
const secondsEach = 4

const tables = { Issue: { table: 'attached', id: 'id', owner: 'team', fields: ['title', 'status', 'text'] } }
const both = ['plain', 'attached']
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** What tables of the application cost it when they are attached, and how soon a client has a change. */
export async function measureTables(options) {
  const { database, postgres, openSqlLog, serve, say } = options
  for (const table of both) await postgres.run('tables', creating(table))
  await postgres.run('tables', 'vacuum analyze')
  const log = await openSqlLog(database, { tables })
  await log.attach('teamId')
  await log.close()
  say('attached')

  const table = await measureStatements(options)
  table.push(await measureWriters(options, 'alone'))
  const folder = await mkdtemp(join(tmpdir(), 'instep-bench-'))
  const config = join(folder, 'instep.config.mjs')
  await writeFile(config, `export default ${JSON.stringify({ ownerField: 'teamId', tables })}`)
  const service = await serve(database, '--config', config)
  try {
    await drained(options)
    table.push(await measureListener(options, service, 10), await measureListener(options, service, 100))
    table.push(await measureWriters(options, 'beside the service'))
    table.push(
      await measureWriters(options, 'beside the service on a core of its own', () =>
        separate(options, service),
      ),
    )
    table.push(...(await measureCopy(options, service)))
  } finally {
    await service.stop()
    await rm(folder, { recursive: true })
  }
  return table
}

const row = (from) =>
  `select n, 'team:' || n % ${teams}, 'Cable cut', 'open', repeat('x', 300) from generate_series(${from}) n`

function creating(table) {
  return `create table ${table} (id int primary key, team text, title text, status text, text text);
    insert into ${table} ${row(`1, ${rows}`)}`
}

/** Resolves once the service has taken all changes. */
async function drained({ postgres }) {
  const waits = async () => (await postgres.run('tables', 'select from instep_change limit 1')).length > 0
  while (await waits()) await pause(50)
}

async function connected({ database }) {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  return client
}

/** Statements of one session, by turns on both tables, while no service runs. */
async function measureStatements(options) {
  const { say, rounds, postgres } = options
  const client = await connected(options)
  const result = []
  for (const [size, times, limit] of [
    [1, 60 * rounds, 1.3],
    [1_000, 10 * rounds, 1.5],
  ]) {
    const taken = { plain: [], attached: [] }
    for (let n = 0; n < times; n += 1) {
      const from = 1 + ((n * size) % rows)
      for (const table of n % 2 === 0 ? both : both.toReversed()) {
        const began = performance.now()
        await client.query(
          `update ${table} set title = 'Title ${n}' where id between ${from} and ${from + size - 1}`,
        )
        taken[table].push(performance.now() - began)
      }
    }
    const [plain, attached] = both.map((table) => percentile(taken[table], 0.25))
    const ratio = `${(attached / plain).toFixed(2)} × (${attached.toFixed(2)} and ${plain.toFixed(2)} ms)`
    say(`a statement of ${size}: ${ratio}`)
    result.push([`a statement that changes ${size} row(s), with and without triggers`, ratio, `≤ ${limit} ×`])
  }
  await client.end()
  await postgres.run('tables', 'vacuum analyze')
  return result
}

/** From the end of `commit` until a client's listener is called, with so many statements a second. */
async function measureListener(options, { url }, perSecond) {
  const { SyncClient, tokenOf, say, seconds } = options
  const token = await tokenOf('ann', Array.from({ length: teams }, (_, n) => `team:${n}`).slice(0, 10))
  const client = new SyncClient({ baseUrl: url, token, identity: 'ann' })
  await client.start()
  await client.sync()
  const sql = await connected(options)
  const [seen, latencies] = [new Map(), []]
  client.query('Issue', { where: { id: { in: ['1', '2', '3'] } } }).subscribe(({ rows }) => {
    for (const { title } of rows) if (!seen.has(title)) seen.set(title, performance.now())
  })
  const start = performance.now()
  const committed = new Map()
  for (let n = 0; n < perSecond * seconds; n += 1) {
    const due = start + (n * 1_000) / perSecond
    while (performance.now() < due) await pause(due - performance.now())
    const title = `${perSecond}-${n}`
    await sql.query('update attached set title = $1 where id = $2', [title, 1 + (n % 3)])
    committed.set(title, performance.now())
  }
  await pause(1_000)
  await sql.end()
  await client.close()
  for (const [title, at] of committed) if (seen.has(title)) latencies.push(Math.max(0, seen.get(title) - at))
  const [half, most] = [0.5, 0.99].map((share) => percentile(latencies, share).toFixed(1))
  const what = `${perSecond} statements a second, from the commit to a client's listener`
  const measured = `median ${half} ms, p99 ${most} ms (${latencies.length} of ${committed.size} seen one by one)`
  say(`${what}: ${measured}`)
  return [what, measured, 'median ≤ 25 ms']
}

/** Transactions of single rows by 8 connections, by turns on both tables. */
async function measureWriters(options, where, prepare = () => {}) {
  const { database, rounds, say } = options
  const done = { plain: [], attached: [] }
  for (let round = 0; round < rounds; round += 1) {
    for (const table of round % 2 === 0 ? both : both.toReversed()) {
      const job = { kind: 'updates', database, table, rows, lanes: writers, seconds: secondsEach }
      const prefix = `${where} ${round}`
      await prepare()
      done[table].push((await load({ ...job, prefix })).perSecond)
      if (where !== 'alone') await drained(options)
    }
    say(
      `${where}, round ${round + 1}: ${both.map((table) => done[table].at(-1).toFixed(0)).join(' and ')} a second`,
    )
  }
  const [plain, attached] = both.map((table) => median(done[table]))
  // Of each round, as others' work changes both.
  const share = median(done.attached.map((perSecond, round) => (100 * perSecond) / done.plain[round]))
  const measured = `${share.toFixed(0)} % (${attached.toFixed(0)} and ${plain.toFixed(0)})`
  return [
    `transactions a second of ${writers} SQL writers, ${where}, with and without triggers`,
    measured,
    '≥ 75 %',
  ]
}

/** Leaves the first core to the service with its connections, and the second to all else. */
async function separate({ postgres }, service) {
  const pin = (core, pid) =>
    execFileSync('taskset', ['-a', '-c', '-p', core, String(pid)], { stdio: 'ignore' })
  const [{ pid: parent }] = await postgres.run(
    'tables',
    "select split_part(pg_read_file('postmaster.pid'), e'\\n', 1) as pid",
  )
  for (const pid of [process.pid, parent]) pin('1', pid)
  pin('0', service.pid)
  const children = await postgres.run(
    'tables',
    'select pid, application_name as name from pg_stat_activity where pid <> pg_backend_pid()',
  )
  for (const { pid, name } of children) pin(name === 'instep' ? '0' : '1', pid)
}

/** `COPY` of many rows into both tables, and what the service does with them. */
async function measureCopy(options, service) {
  const { database, postgres, tokenOf, say } = options
  const source = new URL(database).searchParams.get('host')
  const file = join(source, 'rows.copy')
  await postgres.run('tables', `copy (${row(`${rows + 1}, ${rows + copied}`)}) to '${file}'`)
  const [seconds, peaks] = [{}, {}]
  for (const table of both) {
    const client = await connected(options)
    const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows
    const began = performance.now()
    const copying = client.query(`copy ${table} from '${file}'`)
    peaks[table] = await peakUntil(copying, pid)
    seconds[table] = (performance.now() - began) / 1_000
    await client.end()
    say(`COPY into ${table}: ${seconds[table].toFixed(1)} s, ${peaks[table].toFixed(0)} MB`)
  }
  const began = performance.now()
  const serving = await peakUntil(drained(options), service.pid)
  const taking = (performance.now() - began) / 1_000
  const token = await tokenOf('ann', ['team:1'])
  const answer = await fetch(`${service.url}/bootstrap`, { headers: { Authorization: `Bearer ${token}` } })
  const received = (await answer.json()).rows.length
  const expected = (rows + copied) / teams
  const end = received === expected ? 'a client has all rows' : `a client has ${received} of ${expected} rows`
  return [
    [
      `COPY of ${copied} rows, with and without triggers`,
      `${seconds.attached.toFixed(1)} and ${seconds.plain.toFixed(1)} s, ${peaks.attached.toFixed(0)} and ${peaks.plain.toFixed(0)} MB in the backend`,
      'succeeds',
    ],
    [
      'taking them',
      `${taking.toFixed(1)} s, ${serving.toFixed(0)} MB in the service; ${end}`,
      'clients end right',
    ],
  ]
}

/** The most memory that a process has of its own until `work` ends, in MB. */
async function peakUntil(work, pid) {
  let isDone = false
  const end = () => {
    isDone = true
  }
  work.then(end, end)
  let peak = 0
  while (!isDone) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    const [, kb = 0] = /^RssAnon:\s+(\d+)/m.exec(status) ?? []
    peak = Math.max(peak, Number(kb) / 1_000)
    await pause(50)
  }
  await work
  return peak
}
