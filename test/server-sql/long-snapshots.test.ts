import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { LogRead } from '../../src/server/log/log.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import type { SqlLog } from '../../src/server/log/sql/sql-log.ts'
import { insert } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { asService, eventually } from './judge.ts'

const postgres = ownPostgres()
const count = 20_500
let databases = 0
let name = ''
let log: SqlLog

beforeEach(async () => {
  databases += 1
  name = `long${databases}`
  log = await openSqlLog(await postgres.database(name), { maxReaders: 4 })
  await log.claim('userId')
  await postgres.run(
    name,
    `insert into instep_record (t, id, owner, sid, p)
      select 'Todo', o.owner || n, o.owner, (o.place - 1) * ${count} + n, json_build_object('userId', o.owner)
      from unnest(array['ann', 'bob', 'cid', 'dan']) with ordinality as o(owner, place), generate_series(1, ${count}) n;
    update instep_state set head = ${4 * count}, horizon = ${4 * count}`,
  )
})

afterEach(() => log.close())

/** The number of transactions that are open to read. */
async function openReads(): Promise<number> {
  const rows = await postgres.run(
    name,
    `select from pg_stat_activity where datname = '${name}' and state = 'idle in transaction'`,
  )
  return rows.length
}

async function idsOf({ batches }: LogRead): Promise<readonly string[]> {
  const texts: string[] = []
  for await (const batch of batches) texts.push(batch)
  return JSON.parse(`[${texts.join()}]`).map(({ id }: { id: string }) => id)
}

describe('long snapshots that are opened at once', () => {
  test('for users with the same owners are read from the database twice, and are complete', async () => {
    const users = ['u1', 'u2', 'u3', 'u4', 'u5', 'u6']
    const snapshots = await Promise.all(users.map((user) => log.snapshot(['ann'], user)))
    await eventually(async () => (await openReads()) <= 1)
    for (const snapshot of snapshots) expect(await idsOf(snapshot)).toHaveLength(count)
    expect(await openReads()).toBe(0)
  })

  test('take half of the connections, and those that wait follow', async () => {
    const owners = ['ann', 'bob', 'cid', 'dan']
    const sizes = owners.map(async (owner) => (await idsOf(await log.snapshot([owner], owner))).length)
    const seen: number[] = []
    let isDone = false
    const watching = (async () => {
      while (!isDone) seen.push(await openReads())
    })()
    expect(await Promise.all(sizes)).toEqual([count, count, count, count])
    isDone = true
    await watching
    expect(Math.max(...seen)).toBeLessThanOrEqual(2)
  })

  test('show a change that was made before they were asked for', async () => {
    const unread = await Promise.all([log.snapshot(['ann'], 'u1'), log.snapshot(['ann'], 'u2')])
    await log.write([insert('new')], asService)
    expect(await idsOf(await log.snapshot(['ann'], 'u3'))).toContain('new')
    for (const snapshot of unread) expect(await idsOf(snapshot)).toHaveLength(count)
  })
})
