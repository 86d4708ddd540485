import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { load, percentile } from './bench.mjs'

/** The rows that a parent's removal removes with it, and the documents of 1 MB, of each user. */
const childrenEach = 10_500
const documentsEach = 9
const users = Array.from({ length: 10 }, (_, n) => `user${n}`)
const other = 'bob'
const readers = 20

const tables = {
  Doc: { table: 'docs', id: 'id', owner: 'team', fields: ['price', 'text'] },
  Parent: { table: 'parents', id: 'id', owner: 'team', fields: ['title'] },
  Child: { table: 'children', id: 'id', owner: 'team', fields: ['parent'] },
}

/** What users do, by the name of the job in `attacks.mjs`, and how many users do it in each run. */
const attacks = {
  nothing: [0],
  digits: [1, 10],
  'one row': [1, 10],
  'refused writes': [1, 10],
  'much at once': [1, 10],
  'parallel writes': [1, 10],
  'long bodies': [10],
  'unread sockets': [1, 10],
}

/** How long others wait while one user, or ten, do what costs much, and how much memory the service takes. */
export function measureFairness(options) {
  return onBoth(options, async ({ name, limits, database }) => {
    await fillTables(database, options)
    const table = []
    for (const [what, counts] of Object.entries(attacks)) {
      for (const count of counts) {
        const tokens = await Promise.all(users.slice(0, count).map((user) => options.tokenOf(user, [user])))
        const job = { kind: 'attack', what, tokens }
        const limit = limits[count === 10 ? 'ten' : 'one']
        table.push(await measureOne(`${name}, ${what}, ${count} users`, { ...options, database, job, limit }))
      }
    }
    return table
  })
}

/** How long others wait while many users of a team fetch a snapshot of `rows` rows at once. */
export function measureSnapshots(options) {
  return onBoth(options, async ({ name, limits, database }) => {
    await fillTables(database, options)
    await fillTeam(database, options)
    const tokens = await Promise.all(
      Array.from({ length: readers }, (_, n) => options.tokenOf(`reader${n}`, ['readers'])),
    )
    const job = { kind: 'attack', what: 'snapshots', tokens }
    const label = `${name}, ${readers} snapshots of ${options.rows} rows at once`
    return [await measureOne(label, { ...options, database, job, limit: limits.snapshots })]
  })
}

async function onBoth(options, measure) {
  const folder = await mkdtemp(join(tmpdir(), 'instep-bench-'))
  try {
    const [one, ten, snapshots] = [500, 1_500, 2_000]
    const places = [
      { name: 'PostgreSQL', database: options.database, limits: { one, ten, snapshots } },
      {
        name: 'folder',
        database: join(folder, 'data'),
        limits: { one: 2 * one, ten: 2 * ten, snapshots: 2 * snapshots },
      },
    ]
    const table = []
    for (const place of places) if (options.where.includes(place.name)) table.push(...(await measure(place)))
    return table
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** How long others are connected before it begins, in s. */
const before = 3

/** Measures in a service of its own. */
async function measureOne(label, { serve, tokenOf, say, seconds, database, job, limit }) {
  const config = join(await mkdtemp(join(tmpdir(), 'instep-bench-')), 'instep.config.mjs')
  await writeFile(config, `export default ${JSON.stringify({ ownerField: 'team', tables })}`)
  const service = await serve(database, '--config', config)
  const { url, pid } = service
  try {
    const token = await tokenOf(other, [other])
    const watched = load({
      kind: 'watch others',
      ...{ url, token, seconds, uncounted: before - 0.5, prefix: crypto.randomUUID() },
    })
    const attacked = job.what === 'nothing' ? undefined : load({ ...job, url, afterSeconds: before }, watched)
    const peak = peakUntil(watched, pid)
    const [{ times, failures }, done, memory] = await Promise.all([watched, attacked, peak])
    const told = Object.entries(times).map(([name, each]) => {
      return `${name} ${percentile(each, 0.5).toFixed(0)} / ${percentile(each, 0.99).toFixed(0)}`
    })
    const bad = failures.length > 0 ? `; ${failures.length} failed (${failures[0]})` : ''
    say(`${label}: ${told.join(', ')} ms, ${memory.toFixed(0)} MB${bad} ${JSON.stringify(done ?? '')}`)
    return [
      `${label}: median / p99 in ms`,
      `${told.join(', ')}; ${memory.toFixed(0)} MB${bad}`,
      `p99 ≤ ${limit}, /healthz ≤ 300, 600 MB`,
    ]
  } finally {
    await service.stop()
    await rm(join(config, '..'), { recursive: true })
  }
}

/** The most memory that a process has until `work` ends, in MB. */
async function peakUntil(work, pid) {
  let isDone = false
  const end = () => {
    isDone = true
  }
  work.then(end, end)
  let peak = 0
  while (!isDone) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    const [, kb = 0] = /^VmRSS:\s+(\d+)/m.exec(status) ?? []
    peak = Math.max(peak, Number(kb) / 1_000)
    await pause(50)
  }
  return peak
}

async function fillTables(database, { openSqlLog, say }) {
  const log = await openSqlLog(database, { tables, maxWaitMs: 60_000 })
  const isThere = await log.sql((query) => query("select to_regclass('docs') as docs"))
  if (isThere[0].docs === null) {
    for (const statement of [
      'create table docs (id text primary key, team text, price numeric, text text)',
      "create table parents (id text primary key, team text, title text check (title is null or title <> ''))",
      `create table children (id serial primary key, team text,
        parent text references parents on delete cascade on update cascade)`,
      'create index on children (parent)',
      ...users.flatMap((team) => [
        `insert into docs (id, team, text) select '${team}' || n, '${team}', repeat('x', 1000000)
          from generate_series(1, ${documentsEach}) n`,
        `insert into docs (id, team) select '${team}' || n, '${team}' from generate_series(${documentsEach + 1}, 1100) n`,
        `insert into parents (id, team) values ('${team}', '${team}')`,
        `insert into children (team, parent) select '${team}', '${team}' from generate_series(1, ${childrenEach})`,
      ]),
      `insert into docs (id, team) select '${other}' || n, '${other}' from generate_series(0, 49) n`,
    ]) {
      await log.sql((query) => query(statement))
    }
    await log.attach('team')
  }
  await log.close()
  say('the tables are filled')
}

/** Rows as a client's transactions would leave them, without the time that those take. */
async function fillTeam(database, { openSqlLog, rows, say }) {
  const log = await openSqlLog(database, { tables })
  const [{ head }] = await log.sql((query) => query('select head::int as head from instep_state'))
  // In parts, none of which reaches the time limit of a statement.
  for (let from = 0; from < rows; from += 20_000) {
    const till = Math.min(rows, from + 20_000)
    const insert = `
      insert into instep_record (t, id, owner, sid, p)
      select 'Issue', 'r' || n, 'readers', ${head} + n, json_build_object('team', 'readers', 'title', 'Cable cut',
        'status', 'open', 'text', repeat('x', 300), 'n', n)
      from generate_series(${from + 1}, ${till}) n`
    await log.sql((query) => query(insert))
  }
  await log.sql((query) => query(`update instep_state set head = ${head + rows}, horizon = ${head + rows}`))
  await log.close()
  say(`${rows} rows are written`)
}
