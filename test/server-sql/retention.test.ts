import { afterEach, expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import type { Retention } from '../../src/server/log/sql/retention.ts'
import type { SqlLog } from '../../src/server/log/sql/sql-log.ts'
import { insert } from '../server/harness.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { asService, eventually, idsOf } from './judge.ts'

let log: SqlLog | undefined

afterEach(async () => {
  await log?.close()
})

/** A log into which a record was written every hour, ten times. */
async function logWith(retention: Retention) {
  const clock = new VirtualClock()
  const made = await openSqlLog('memory:', { clock, retention })
  log = made
  for (let hour = 0; hour < 10; hour += 1) {
    await made.write([insert(String(hour))], asService)
    await clock.advance(hour < 9 ? 3_600_000 : 1)
  }
  const horizon = async () => (await made.position()).horizon
  return { clock, made, horizon }
}

test('what is older than asked is forgotten, and the records stay', async () => {
  const { clock, made, horizon } = await logWith({ maxAgeMs: 4 * 3_600_000 })
  await clock.advance(1_800_000)
  await eventually(async () => (await horizon()) === 6)
  expect(await idsOf(made)).toHaveLength(10)
  await clock.advance(24 * 3_600_000)
  await eventually(async () => (await horizon()) === 10)
}, 30_000)

test('all but so many changes are forgotten', async () => {
  const { clock, horizon } = await logWith({ maxChanges: 3 })
  await clock.advance(600_000)
  await eventually(async () => (await horizon()) === 7)
}, 30_000)
