import { afterEach, expect, test } from 'vitest'
import type { Retention } from '../../src/server/log/retention.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { forgettable } from '../../src/server/log/sql/retention.ts'
import type { SqlLog } from '../../src/server/log/sql/sql-log.ts'
import { insert, recorder } from '../server/harness.ts'
import { txOf } from '../server/log-contract/support.ts'
import { idAt } from '../support/ids-at.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { logsIn } from '../support/postgres-log.ts'
import { VirtualClock } from '../support/virtual.ts'
import { asService, eventually, idsOf } from './judge.ts'

let log: SqlLog | undefined
const postgres = ownPostgres()

afterEach(async () => {
  await log?.close()
})

/** A log into which a record was written every hour, ten times. */
async function logWith(name: string, retention: Retention) {
  const clock = new VirtualClock()
  // On this clock the time in which a database may answer would be over before it can.
  const made = await openSqlLog(await postgres.database(name), { clock, retention, maxWaitMs: 1_000_000_000 })
  log = made
  for (let hour = 0; hour < 10; hour += 1) {
    await made.write([insert(String(hour))], asService)
    await clock.advance(hour < 9 ? 3_600_000 : 1)
  }
  const horizon = async () => (await made.position()).horizon
  return { clock, made, horizon }
}

/** Resolves once `condition` holds: the log forgets every ten minutes of the clock, and takes real time for it. */
async function passing(clock: VirtualClock, condition: () => Promise<boolean>): Promise<void> {
  for (let turns = 0; turns < 4; turns += 1) {
    await clock.advance(600_000)
    const isDone = await eventually(condition, 2_000).then(
      () => true,
      () => false,
    )
    if (isDone) return
  }
  await eventually(condition)
}

test('changes above the maximum age are forgotten, and the records stay', async () => {
  const { clock, made, horizon } = await logWith('aged', { maxAgeMs: 4 * 3_600_000 - 0.5 })
  await passing(clock, async () => (await horizon()) === 6)
  expect(await idsOf(made)).toHaveLength(10)
  await clock.advance(24 * 3_600_000)
  await passing(clock, async () => (await horizon()) === 10)
})

test('changes above the maximum number are forgotten', async () => {
  const { clock, horizon } = await logWith('counted', { maxChanges: 3.5 })
  await passing(clock, async () => (await horizon()) === 7)
})

test('verdicts can be forgotten while the history stays', async () => {
  const clock = new VirtualClock()
  const address = await postgres.database('verdicts')
  const retention = { maxVerdictAgeMs: 3_600_000 }
  const made = await openSqlLog(address, { clock, retention, maxWaitMs: 1_000_000_000 })
  log = made
  await made.transact(txOf(idAt(clock.now()), [insert('1')]), asService)
  const count = async () => (await postgres.run('verdicts', 'select from instep_verdict')).length
  expect(await count()).toBe(1)
  await clock.advance(7_200_001)
  await passing(clock, async () => (await count()) === 0)
  expect(await made.position()).toMatchObject({ head: 1, horizon: 0 })
})

test('a log that fails to forget logs that, and tries again', async () => {
  const clock = new VirtualClock()
  const { logger, lines } = recorder()
  const address = await postgres.database('refused')
  const retention = { maxVerdictAgeMs: 3_600_000 }
  const made = await openSqlLog(address, { clock, retention, logger, maxWaitMs: 1_000_000_000 })
  log = made
  await made.transact(txOf(idAt(clock.now()), [insert('1')]), asService)
  await postgres.run('refused', 'alter table instep_verdict rename to elsewhere')
  await clock.advance(7_200_001)
  await passing(clock, async () => lines.some((line) => line.startsWith('Old changes or verdicts could not')))
  await postgres.run('refused', 'alter table elsewhere rename to instep_verdict')
  await passing(clock, async () => (await postgres.run('refused', 'select from instep_verdict')).length === 0)
})

test('a long history is examined in parts, and forgotten at once', async () => {
  const address = await postgres.database('long')
  const { database, close } = await logsIn(address)
  await postgres.run(
    'long',
    `insert into instep_log (sid, owner, t, id, at, last, frame)
      select n, 'ann', 'Todo', '1', 0, true, '{}' from generate_series(1, 250000) as n;
    update instep_state set head = 250000`,
  )
  expect(await forgettable(database.followers, { maxAgeMs: 1 }, 2)).toBe(100_000)
  await close()
  const clock = new VirtualClock()
  const made = await openSqlLog(address, { clock, retention: { maxAgeMs: 1 } })
  log = made
  await clock.advance(600_000)
  await eventually(async () => (await made.position()).horizon === 250_000)
  const left = () => postgres.run('long', 'select from instep_log')
  await eventually(async () => (await left()).length === 0)
})
