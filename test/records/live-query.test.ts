import { describe, expect, test, vi } from 'vitest'
import type { LiveQuery } from '../../src/records/live-query.ts'
import { apply, emptyReplica, replaceAll, replicaOf, row, t } from '../support/replica-fixtures.ts'

const rows = [row('a', { n: 3 }), row('b', { n: 1 }), row('c', { n: 2 })]

const byN = { orderBy: 'n' } as const

describe('status', () => {
  test('is pending until the first data, which notifies every listener', () => {
    const { replica } = emptyReplica()
    const query = replica.query(t, {})
    const listener = vi.fn()
    query.subscribe(listener)
    apply(replica, row('a'))
    expect([query.status, replica.isReady(), listener.mock.calls.length]).toEqual(['pending', false, 1])
    replaceAll(replica, [row('a')])
    expect([query.status, replica.isReady(), listener.mock.calls.length]).toEqual(['ready', true, 2])
    replaceAll(replica, [row('a')])
    expect(listener).toHaveBeenCalledTimes(2)
  })
})

describe('reading without a subscription', () => {
  test('returns the same array until the result changes', () => {
    const { replica } = replicaOf(rows)
    const query = replica.query(t, { where: { n: { lte: 2 } } })
    const before = query.rows
    expect(query.rows).toBe(before)
    apply(replica, row('a', { n: 9 }))
    expect(query.rows).toBe(before)
    apply(replica, row('b', { n: 0 }))
    expect(query.rows).not.toBe(before)
  })

  test('calls the filter again only after a change of the type', () => {
    const { replica } = replicaOf(rows)
    const filter = vi.fn(() => true)
    const query = replica.query(t, { filter })
    expect([query.rows, query.rows, query.cursor].length).toBe(3)
    replica.apply([{ t: 'Other', id: 'a', before: undefined, after: { t: 'Other', id: 'a', p: {} } }])
    expect(query.rows).toHaveLength(3)
    expect(filter).toHaveBeenCalledTimes(3)
  })

  test('is shared with the subscription that follows', () => {
    const { replica } = replicaOf(rows)
    const filter = vi.fn(() => true)
    const query = replica.query(t, { filter })
    const before = query.rows
    const undo = query.subscribe(() => {})
    expect(query.rows).toBe(before)
    undo()
    expect(query.rows).toBe(before)
    expect(filter).toHaveBeenCalledTimes(3)
  })
})

describe('notifying', () => {
  test('a batch notifies once, and not at all if the result stays the same', () => {
    const { replica } = replicaOf(rows)
    const query = replica.query(t, { ...byN, limit: 2 })
    const listener = vi.fn()
    query.subscribe(listener)
    apply(replica, row('b', { n: 5 }), row('d', { n: 0 }))
    expect(listener.mock.calls).toEqual([[query]])
    expect(query.rows.map(({ id }) => id)).toEqual(['d', 'c'])
    apply(replica, row('e', { n: 7 }), 'b')
    expect(listener).toHaveBeenCalledTimes(1)
  })

  test('a listener that throws is reported, and the others are called', () => {
    const { replica, errors } = replicaOf(rows)
    const listener = vi.fn()
    const first = replica.query(t, {})
    first.subscribe(() => {
      throw new Error('mine')
    })
    first.subscribe(listener)
    replica.query(t, {}).subscribe(listener)
    apply(replica, 'a')
    expect(listener).toHaveBeenCalledTimes(2)
    expect(errors).toEqual([new Error('mine')])
  })

  test('an unsubscribed listener is not called, and the query is not updated any more', () => {
    const { replica } = replicaOf(rows)
    const filter = vi.fn(() => true)
    const listener = vi.fn()
    const query = replica.query(t, { filter })
    const undo = query.subscribe(listener)
    undo()
    undo()
    filter.mockClear()
    apply(replica, 'a')
    expect(filter).not.toHaveBeenCalled()
    expect(listener).not.toHaveBeenCalled()
    expect(query.rows).toHaveLength(2)
  })

  test('ending one of two subscriptions, even twice, keeps the other', () => {
    const { replica } = replicaOf(rows)
    const listener = vi.fn()
    const query = replica.query(t, {})
    const undo = query.subscribe(() => {})
    query.subscribe(listener)
    undo()
    undo()
    apply(replica, 'a')
    expect(listener).toHaveBeenCalledTimes(1)
  })
})

describe('a filter that throws', () => {
  test('omits the record, and is reported once per evaluation and batch', () => {
    const { replica, errors } = replicaOf(rows)
    const query = replica.query(t, {
      filter: ({ id, n }) => {
        if (n !== 2) throw new Error(id)
        return true
      },
    })
    const listener = vi.fn()
    query.subscribe(listener)
    expect(query.rows.map(({ id }) => id)).toEqual(['c'])
    expect(errors).toHaveLength(1)
    apply(replica, row('c', { n: 4 }), row('d', { n: 4 }))
    expect(query.rows).toEqual([])
    expect(errors).toHaveLength(2)
    apply(replica, row('d', { n: 2 }))
    expect(query.rows.map(({ id }) => id)).toEqual(['d'])
    expect(listener).toHaveBeenCalledTimes(2)
  })

  test('is reported again when a query without subscribers is read', () => {
    const { replica, errors } = replicaOf(rows)
    const query = replica.query(t, {
      filter: () => {
        throw new Error('mine')
      },
    })
    expect([query.rows, query.rows, errors.length]).toEqual([[], [], 1])
    apply(replica, row('a', { n: 4 }))
    expect([query.rows, errors.length]).toEqual([[], 2])
  })
})

describe('cursor', () => {
  test('is the end of the result, as data', () => {
    const { replica } = replicaOf([row('a', { n: 1, tags: [1] }), row('b', { n: 1 })])
    expect(replica.query(t, { orderBy: ['n', 'tags'], limit: 1 }).cursor).toEqual({
      values: [1, null],
      id: 'a',
    })
    expect(replica.query(t, {}).cursor).toEqual({ values: [], id: 'b' })
    expect(replica.query(t, { where: { n: 2 } }).cursor).toBeUndefined()
  })

  test('is valid even if its record is deleted', () => {
    const { replica } = replicaOf(rows)
    const { cursor } = replica.query(t, { ...byN, limit: 1 })
    const rest = replica.query(t, { ...byN, after: cursor })
    apply(replica, 'b', row('d', { n: 0 }))
    expect(rest.rows.map(({ id }) => id)).toEqual(['c', 'a'])
  })
})

test('rows that swap a shared payload change the result', () => {
  const shared = { n: 1 }
  const { replica } = replicaOf([row('a', shared)])
  const query = replica.query(t, {})
  const listener = vi.fn()
  query.subscribe(listener)
  replaceAll(replica, [row('b', shared)])
  expect(listener).toHaveBeenCalledTimes(1)
  expect(query.rows).toEqual([{ id: 'b', n: 1 }])
})

describe('a filter that reads', () => {
  test('its own query does not change the result', () => {
    const { replica } = emptyReplica()
    const reads: number[] = []
    const filter = () => !replica.isReady() || reads.push(query.length) > 0
    const query: LiveQuery = replica.query(t, { ...byN, filter })
    query.subscribe(() => {})
    replaceAll(replica, [])
    apply(replica, ...rows)
    expect(reads).toHaveLength(rows.length)
    expect([query.length, query.rows.length]).toEqual([3, 3])
  })

  test('another query does not change the result of that query', () => {
    const { replica } = replicaOf(rows, [['n']])
    const other = replica.query(t, { ...byN, after: { values: [1], id: 'b' }, limit: 9 })
    replica.query(t, { filter: () => other.rows.length > 0 }).subscribe(() => {})
    other.subscribe(() => {})
    apply(replica, row('a', { n: 4 }))
    apply(replica, row('d', { n: 0 }))
    expect(other.rows.map(({ id }) => id)).toEqual(['c', 'a'])
  })
})
