import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { load, percentile } from './bench.mjs'

const heavyUser = 'ann'
const otherUser = 'bob'
const recordCount = 60

/** How long others wait while one user does what takes long: writes and `/healthz` on a folder, and on PostgreSQL. */
export async function measureOthers(options) {
  const folder = await mkdtemp(join(tmpdir(), 'instep-bench-'))
  try {
    return [
      ...(await measureOn(join(folder, 'data'), 'folder', options)),
      ...(await measureOn(options.database, 'PostgreSQL', options)),
    ]
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function measureOn(database, name, { serve, tokenOf, say, rows, openSqlLog }) {
  await fill(database, rows, { openSqlLog })
  say(`${rows} rows are written`)
  const service = await serve(database)
  const table = []
  const [token, other] = [await tokenOf(heavyUser), await tokenOf(otherUser)]
  try {
    const { url } = service
    const post = (bodies) => load({ kind: 'post', url, token, bodies })
    for (let n = 0; n < recordCount; n += 1) {
      await post([bodyOf([insert(`long${n}`, { text: randomBytes(500_000).toString('hex') })])])
    }
    say(`${recordCount} records of 1 MB are written`)
    const touching = (count) => {
      const ops = Array.from({ length: count }, (_, n) => ({ op: 'u', t: 'Issue', id: `long${n}`, p: { n } }))
      return Array.from({ length: 4 }, () => bodyOf(ops))
    }
    const inserting = Array.from({ length: 200 }, (_, b) =>
      bodyOf(Array.from({ length: 1_000 }, (_, n) => insert(`b${b}-${n}`, { n }))),
    )
    const disturbances = {
      nothing: () => pause(5_000),
      '4 × 60 records of 1 MB': () => post(touching(60)),
      '4 × 15 records of 1 MB': () => post(touching(15)),
      '200 × 1 000 inserts': () => post(inserting),
      [`snapshot of ${rows} rows`]: () => load({ kind: 'bootstrap', url, token }),
    }
    for (const [what, disturb] of Object.entries(disturbances)) {
      const disturbed = pause(2_000)
        .then(disturb)
        .finally(() => pause(500))
      const watched = load({ kind: 'watch', url, token: other, prefix: crypto.randomUUID() }, disturbed)
      const [done, { writes, healths, sockets, failures, unsent }] = await Promise.all([disturbed, watched])
      const show = (times) => `${percentile(times, 0.5).toFixed(0)} / ${Math.max(...times).toFixed(0)} ms`
      const told = `writes ${show(writes)}, sockets ${show(sockets)}, /healthz ${show(healths)}`
      const bad =
        failures.length + unsent > 0 ? `; ${failures.length} failed, ${unsent} not on the socket` : ''
      say(`${name}, ${what}: ${told}${bad} ${JSON.stringify(done) ?? ''} ${failures[0] ?? ''}`)
      table.push([`${name}, ${what}`, `${told}${bad}`, 'max ≤ 1 s'])
    }
  } finally {
    await service.stop()
  }
  return table
}

const insert = (id, p) => ({ op: 'i', t: 'Issue', id, p })

const bodyOf = (ops) => JSON.stringify({ txs: [{ id: crypto.randomUUID(), since: 0, ops }] })

/** Rows as a client's transactions would leave them, without the time that those take. */
async function fill(database, rows, { openSqlLog }) {
  const log = await openSqlLog(database)
  await log.claim('userId')
  // In parts, none of which reaches the time limit of a statement.
  for (let from = 0; from < rows; from += 20_000) {
    const till = Math.min(rows, from + 20_000)
    const insert = `
      insert into instep_record (t, id, owner, sid, p)
      select 'Issue', 'r' || n, '${heavyUser}', n, json_build_object('userId', '${heavyUser}', 'title', 'Cable cut',
        'status', 'open', 'text', repeat('x', 300), 'n', n)
      from generate_series(${from + 1}, ${till}) n`
    await log.sql((query) => query(insert))
  }
  await log.sql((query) => query(`update instep_state set head = ${rows}, horizon = ${rows}`))
  await log.close()
}
