import { describe, expect, test } from 'vitest'
import { PartialSnapshot } from '../../src/engine/partial-snapshot.ts'
import type { Staging } from '../../src/records/staging.ts'
import { PacedClock } from '../support/paced-clock.ts'
import { emptyReplica, row, t } from '../support/replica-fixtures.ts'

/** A snapshot that comes, and what is shown of it. */
function coming({ costMs = 0, listenerMs = 0 } = {}) {
  const clock = new PacedClock()
  const { replica } = emptyReplica({ clock })
  const counts: number[] = []
  const parts: number[] = []
  const onShown = () => {
    counts.push(replica.count(t))
    clock.pass(listenerMs)
  }
  const firstRows = new PartialSnapshot({ replica, clock, onShown })
  let staging: Staging = replica.stage()
  let rows = 0
  const begin = () => {
    staging = replica.stage()
    rows = 0
    firstRows.begin()
  }
  const came = async (ms: number, more: number, fraction?: number) => {
    clock.pass(ms)
    staging.add(Array.from({ length: more }, (_, n) => row(`${rows + n}`)))
    rows += more
    const part = () => {
      parts.push(rows)
      clock.pass(costMs)
      return staging.part()
    }
    await firstRows.came({ part }, rows, fraction)
  }
  begin()
  return { replica, counts, parts, begin, came }
}

describe('what has come of a first snapshot is shown', () => {
  test('after a second, and then after another one where it is twice as much', async () => {
    const { came, counts } = coming()
    await came(999, 10)
    expect(counts).toEqual([])
    await came(1, 1)
    expect(counts).toEqual([11])
    await came(999, 20)
    await came(1, 1)
    expect(counts).toEqual([11, 32])
    await came(1_000, 31)
    expect(counts).toEqual([11, 32])
    await came(0, 1)
    expect(counts).toEqual([11, 32, 64])
  })

  test('unless the rest is expected within three seconds', async () => {
    const { came, counts } = coming()
    await came(1_000, 10, 0.26)
    expect(counts).toEqual([])
    await came(0, 1, 0.25)
    expect(counts).toEqual([11])
  })

  test.each([{ costMs: 500 }, { listenerMs: 500 }])('in a tenth of the time at most, %o', async (costs) => {
    const { came, counts } = coming(costs)
    await came(1_000, 10)
    await came(5_499, 20)
    expect(counts).toEqual([10])
    await came(1, 1)
    expect(counts).toEqual([10, 31])
  })

  test('unless there is data by then', async () => {
    const { came, counts, parts, replica } = coming()
    const first = came(1_000, 10)
    replica.swap(replica.stage())
    await first
    expect([parts, counts]).toEqual([[10], []])
    await came(1_000, 20)
    expect([parts, counts]).toEqual([[10], []])
  })

  test('and stays until another one has twice as much', async () => {
    const { came, counts, begin, replica } = coming()
    await came(1_000, 10)
    begin()
    await came(999, 19)
    await came(1, 0)
    expect([replica.count(t), counts]).toEqual([10, [10]])
    await came(0, 1)
    expect([replica.count(t), counts]).toEqual([20, [10, 20]])
  })
})

test('a part is not the data: what is read of it is pending, and what comes is not in it', async () => {
  const { replica } = emptyReplica()
  const staging = replica.stage(new Set(['Event']))
  staging.add([row('a'), { t: 'Event', id: '1', p: {} }])
  const query = replica.query(t, {})
  const told: unknown[] = []
  query.subscribe(({ status, rows }) => told.push([status, rows.length]))
  replica.swap(await staging.part())
  expect([replica.isReady(), replica.isReady('Event'), replica.rows.has('Event')]).toEqual([
    false,
    false,
    true,
  ])
  replica.apply([{ t, id: 'c', before: undefined, after: row('c') }], {
    lay: [{ id: 'tx', ops: [{ op: 'd', t, id: 'a' }] }],
  })
  staging.add([row('b')])
  expect(replica.all(t)).toEqual([{ id: 'c' }])
  expect(staging.rows.of(t).get('c')).toBeUndefined()
  expect(staging.rows.of(t).get('a')).toBeDefined()
  replica.swap(staging)
  expect(replica.all(t)).toEqual([{ id: 'b' }])
  expect(told).toEqual([
    ['pending', 1],
    ['pending', 1],
    ['ready', 1],
  ])
  expect(replica.rows.has('Event')).toBe(false)
})
