import { expect, test, vi } from 'vitest'
import { PacedClock } from '../support/paced-clock.ts'
import { apply, emptyReplica, replaceAll, replicaOf, row, t } from '../support/replica-fixtures.ts'

test('equal records, rows and results stay the same objects after a swap', () => {
  const rows = () => [row('a', { n: 1 }, 1), row('b', { id: 'b', n: 2 }, 1), row('c', { n: 3 }, 1)]
  const { replica } = replicaOf(rows())
  const records = replica.getMany(t, ['a', 'b', 'c'])
  const query = replica.query(t, { where: { n: { lte: 2 } } })
  const listener = vi.fn()
  query.subscribe(listener)
  const shown = query.rows
  replaceAll(replica, [...rows().slice(0, 2), row('c', { n: 3 }, 2)])
  expect(replica.getMany(t, ['a', 'b', 'c'])).toEqual(records)
  for (const [i, id] of ['a', 'b', 'c'].entries()) expect(replica.get(t, id)).toBe(records[i])
  expect(replica.confirmed(t, 'c')?.v).toBe(2)
  expect(query.rows).toBe(shown)
  expect(listener).not.toHaveBeenCalled()
})

test('queries that begin, end or change between preparing and swapping are right afterwards', async () => {
  const { replica } = replicaOf([row('a', { n: 1 })], [['n']])
  const specs = [{ orderBy: 'n' }, { where: { n: { gte: 2 } } }, { filter: () => true, limit: 2 }] as const
  const early = specs.map((spec) => replica.query(t, spec))
  const undo = early.map((query) => query.subscribe(() => {}))
  const staging = replica.stage()
  staging.add([row('a', { n: 1 }), row('b', { n: 2 }), row('c', { n: 3 })])
  await staging.prepare()
  const late = specs.map((spec) => replica.query(t, spec))
  for (const query of late) query.subscribe(() => {})
  undo[0]?.()
  apply(replica, row('a', { n: 7 }), row('z', { n: 0 }))
  expect(late.map(({ rows }) => rows.length)).toEqual([2, 1, 2])
  replica.swap(staging)
  apply(replica, row('c', { n: 4 }))
  for (const queries of [early, late]) {
    expect(queries.map(({ rows }) => rows.map(({ id }) => id))).toEqual([
      ['a', 'b', 'c'],
      ['b', 'c'],
      ['a', 'b'],
    ])
  }
})

test('preparing yields to other tasks, and sees their subscriptions', async () => {
  const clock = new PacedClock(3)
  const { replica } = emptyReplica({ clock, indexes: new Map([[t, [['n'], ['s', 'n']]]]) })
  const turnsWhenAsked = new Set<number>()
  const asked = vi.fn(() => turnsWhenAsked.add(clock.turns).size > 0)
  replica.query(t, { filter: asked, orderBy: 's' }).subscribe(() => {})
  const staging = replica.stage()
  const size = 20_000
  staging.add(Array.from({ length: size }, (_, i) => row(`${i}`, { n: (i * 7) % size, s: `${i % 100}` })))
  await staging.prepare()
  expect(clock.turns).toBeGreaterThan(20)
  expect(asked).toHaveBeenCalledTimes(size)
  expect(turnsWhenAsked.size).toBeGreaterThan(5)
  asked.mockClear()
  const turns = clock.turns
  replica.swap(staging)
  expect([asked.mock.calls.length, clock.turns - turns]).toEqual([0, 0])
  expect(replica.query(t, { where: { s: '7' }, orderBy: 'n' }).rows).toHaveLength(size / 100)
})

test('queries that replace each other in each turn do not block preparing', async () => {
  let renew = () => {}
  class BusyClock extends PacedClock {
    override pause(): Promise<void> {
      if (this.turns < 1_000) renew()
      return super.pause()
    }
  }
  const clock = new BusyClock(100)
  const { replica } = emptyReplica({ clock })
  const begin = () => replica.query(t, { orderBy: ['n'] }).subscribe(() => {})
  let undo = begin()
  renew = () => {
    const last = undo
    undo = begin()
    last()
  }
  const staging = replica.stage()
  staging.add(Array.from({ length: 10_000 }, (_, n) => row(`${n}`, { n: n % 7 })))
  await clock.until(staging.prepare())
  expect(clock.turns).toBeLessThan(500)
})
