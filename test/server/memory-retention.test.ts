import { expect, test } from 'vitest'
import type { ClientTransaction } from '../../src/server/log/log.ts'
import { MemoryLog } from '../../src/server/log/memory-log.ts'
import type { Retention } from '../../src/server/log/retention.ts'
import { idAt } from '../support/ids-at.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'
import { insert, serviceOf } from './harness.ts'
import { as, asService, framesOf, rowsOf, txOf } from './log-contract/support.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

function logWith(retention: Retention) {
  const time = new VirtualClock()
  const clock = new JumpingClock(time)
  const log = new MemoryLog({ clock, random: seededRandom(1), retention })
  const send = (id: string, more: Partial<ClientTransaction> = {}) =>
    log.transact(txOf(id, [{ op: 'i', t: 'Todo', id: '1', p: {}, put: true }], more), as('ann'))
  const horizon = async () => (await log.position()).horizon
  return { time, clock, log, send, horizon }
}

test('every ten minutes, the log in memory forgets changes above the maximum age, and no records', async () => {
  const { time, log, horizon } = logWith({ maxAgeMs: hour })
  for (const id of ['1', '2', '3']) {
    await time.advance(4 * minute)
    await log.write([insert(id)], asService)
  }
  await time.advance(57 * minute)
  expect(await horizon()).toBe(0)
  await time.advance(minute)
  expect(await horizon()).toBe(2)
  await time.advance(10 * minute)
  expect(await horizon()).toBe(3)
  expect(await framesOf(log, 3)).toEqual([])
  expect(await rowsOf(log)).toHaveLength(3)
  await log.write([insert('4')], asService)
  await time.advance(hour)
  expect(await horizon()).toBe(3)
  await log.close()
  expect(time.timers).toBe(0)
})

test('the log in memory keeps the maximum number of the newest changes', async () => {
  const { time, log, horizon } = logWith({ maxChanges: 2.5 })
  for (const id of ['1', '2', '3', '4']) await log.write([insert(id)], asService)
  await time.advance(10 * minute)
  expect(await horizon()).toBe(2)
  expect(await framesOf(log, 2)).toMatchObject([{ id: '3' }, { id: '4' }])
  await log.close()
})

test('a transaction that is repeated after its verdict was forgotten is rejected as expired, and applied once', async () => {
  const { time, clock, log, send } = logWith({ maxVerdictAgeMs: 7 * day })
  const id = idAt(clock.now())
  const first = await send(id)
  expect(await send(idAt(clock.now() - 7 * day - 1))).toMatchObject({ error: { code: 'expired' } })
  clock.jump(7 * day)
  await time.advance(10 * minute)
  expect(await send(id)).toEqual(first)
  clock.jump(hour)
  await time.advance(10 * minute)
  expect(await send(id)).toMatchObject({ error: { code: 'expired' } })
  // What was forgotten stays so where the clock goes back.
  clock.jump(-8 * day)
  expect(await send(id)).toMatchObject({ error: { code: 'expired' } })
  expect(await framesOf(log)).toHaveLength(1)
  await log.close()
})

test('a verdict is kept if it or its id is young, or if its id contains no time', async () => {
  const { time, clock, log, send } = logWith({ maxVerdictAgeMs: 7 * day })
  const [ahead, old] = [idAt(clock.now() + 8 * day), idAt(clock.now() - 7 * day)]
  const verdicts = [await send(ahead), await send('a'), await send(old)]
  clock.jump(7 * day)
  await time.advance(10 * minute)
  expect([await send(ahead), await send('a'), await send(old)]).toEqual(verdicts)
  clock.jump(day)
  await time.advance(10 * minute)
  expect([await send(ahead), await send('a')]).toEqual(verdicts.slice(0, 2))
  expect(await send(old)).toMatchObject({ error: { code: 'expired' } })
  await log.close()
})

test('a service in memory applies its retention options', async () => {
  const { service, clock, ask } = serviceOf({ database: 'memory:', retention: { maxChanges: 1 } })
  await service.write([insert('1'), insert('2')])
  expect((await ask('delta?since=0')).status).toBe(200)
  await clock.advance(10 * minute)
  expect((await ask('delta?since=0')).status).toBe(410)
  expect((await ask('delta?since=1')).status).toBe(200)
  await service.close()
})
