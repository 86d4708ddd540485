import { load, percentile } from './bench.mjs'

const teams = Array.from({ length: 20 }, (_, n) => `team:${n}`)

/** What a caller of 20 owners reads, beside a caller of one owner that has as much, in a small and in a large log. */
export async function measureOwners(options) {
  const { database, postgres, serve, tokenOf, say, openSqlLog, rounds } = options
  const tokens = [await tokenOf('one', ['user:one']), await tokenOf('many', teams)]
  const table = []
  for (const entries of [10_000, 1_000_000]) {
    await (await openSqlLog(database)).close()
    await postgres.run('many', filling(entries))
    await postgres.run('many', 'vacuum analyze')
    say(`${entries} changes are written`)
    const service = await serve(database)
    const reads = {
      'delta of all': 'delta?since=0',
      'delta of the last percent': `delta?since=${entries * 0.99}`,
      snapshot: 'bootstrap',
    }
    try {
      for (const [what, path] of Object.entries(reads)) {
        const job = { kind: 'turns', address: `${service.url}/${path}`, tokens, rounds: 4 * rounds }
        const { times, bytes } = await load(job)
        const [one, many] = times.map((each) => percentile(each, 0.25))
        const ratio = `${(many / one).toFixed(2)} × one owner (${many.toFixed(1)} and ${one.toFixed(1)} ms)`
        say(`${what}: ${ratio}, ${bytes.join(' and ')} bytes`)
        table.push([
          `20 owners, ${entries} changes: ${what}, ${(bytes[1] / 1e3).toFixed(0)} kB`,
          ratio,
          '≤ 2',
        ])
      }
    } finally {
      await service.stop()
    }
  }
  return table
}

/** A tenth of the log is of one owner, a tenth of 20 teams, and the rest of 1 000 others, all mixed. */
function filling(entries) {
  return `
    truncate instep_log, instep_record;
    insert into instep_log (sid, owner, t, id, at, last, frame)
      select n, case n % 10 when 0 then 'user:one' when 5 then 'team:' || (n / 10) % 20 else 'user:' || n % 1000 end,
        'Issue', 'i' || n, 0, true, json_build_object('sid', n, 't', 'Issue', 'id', 'i' || n, 'op', 'i',
          'p', json_build_object('title', 'Cable cut', 'status', 'open', 'text', repeat('x', 300)))
      from generate_series(1, ${entries}) n;
    insert into instep_record (t, id, owner, sid, p) select t, id, owner, sid, frame->'p' from instep_log;
    update instep_state set head = ${entries}, owner_field = 'userId'`
}

/** 500 callers with a socket and 20 owners each. Each owner is that of 20 callers. */
export async function measureTeams(options) {
  const { database, serve, tokenOf, say, seconds } = options
  const callers = 500
  const ownersOf = (n) => Array.from({ length: 20 }, (_, k) => `team:${(7 * n + 25 * k) % callers}`)
  const tokens = await Promise.all(Array.from({ length: callers }, (_, n) => tokenOf(`u${n}`, ownersOf(n))))
  const service = await serve(database)
  try {
    say(`100 writes a second for ${seconds} s`)
    const job = {
      kind: 'fanOut',
      url: service.url,
      tokens,
      socketsEach: 1,
      receivers: 20,
      perSecond: 100,
      seconds,
    }
    const { latencies, perSecond, failed, lost } = await load(job)
    const [half, most] = [0.5, 0.99].map((share) => percentile(latencies.slice(100), share).toFixed(1))
    const bad = failed + lost > 0 ? `; ${failed} refused, ${lost} never came` : ''
    const what = `500 sockets of callers with 20 owners, ${perSecond.toFixed(0)} writes a second`
    return [[what, `median ${half} ms, p99 ${most} ms${bad}`, 'p99 ≤ 100 ms']]
  } finally {
    await service.stop()
  }
}
