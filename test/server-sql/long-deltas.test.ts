import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import type { SqlLog } from '../../src/server/log/sql/sql-log.ts'
import { ownPostgres } from '../support/own-postgres.ts'

const postgres = ownPostgres()
const count = 20_500
const owners = ['ann', 'bob', 'cid', 'dan']
let log: SqlLog

beforeAll(async () => {
  log = await openSqlLog(await postgres.database('long'), { maxDeltaReaders: 4 })
  await log.claim('userId')
  await postgres.run(
    'long',
    `insert into instep_log (sid, owner, t, id, at, last, frame)
      select sid, o.owner, 'Todo', o.owner || n, 0, true,
        json_build_object('sid', sid, 't', 'Todo', 'id', o.owner || n, 'op', 'i', 'p', json_build_object('n', n))
      from unnest(array['${owners.join("','")}']) with ordinality as o(owner, place), generate_series(1, ${count}) n,
        lateral (select (o.place - 1) * ${count} + n as sid) s;
    update instep_state set head = ${owners.length * count}`,
  )
})

afterAll(() => log.close())

/** The most deltas that are read from the database at once, until `reads` have ended. */
async function mostAtOnce(reads: Promise<unknown>): Promise<number> {
  let most = 0
  let isDone = false
  const watching = (async () => {
    while (!isDone) {
      const rows = await postgres.run(
        'long',
        `select from pg_stat_activity where datname = 'long' and xact_start is not null and pid <> pg_backend_pid()
          and query ~ '^(declare|fetch)'`,
      )
      most = Math.max(most, rows.length)
    }
  })()
  await reads
  isDone = true
  await watching
  return most
}

async function countOf(owner: string, caller: string): Promise<number> {
  let frames = 0
  for await (const batch of (await log.delta([owner], 0, caller)).batches)
    frames += JSON.parse(`[${batch}]`).length
  return frames
}

test.each([
  ['of a user are read one after the other', () => 'ann', 1],
  ['of many users take half of the connections', (owner: string) => owner, 2],
])('long deltas %s, and all are complete', async (_, callerOf, most) => {
  const reads = Promise.all(owners.map((owner) => countOf(owner, callerOf(owner))))
  expect(await mostAtOnce(reads)).toBeLessThanOrEqual(most)
  expect(await reads).toEqual(owners.map(() => count))
})

test('a short delta does not wait for long ones that nobody reads', async () => {
  const unread = owners.map((owner) => log.delta([owner], 0, 'ann'))
  for await (const batch of (await log.delta(['dan'], owners.length * count - 1, 'bob')).batches) {
    expect(JSON.parse(`[${batch}]`)).toHaveLength(1)
  }
  for (const delta of unread) await (await delta).batches[Symbol.asyncIterator]().return?.()
})
