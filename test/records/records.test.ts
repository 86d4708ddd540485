import { expect, test } from 'vitest'
import { apply, emptyReplica, replaceAll, replicaOf, row, t } from '../support/replica-fixtures.ts'

test("a record is the payload's fields and the row's id, which wins", () => {
  const { replica } = replicaOf([
    row('a', { title: 'A' }),
    row('b', { id: 'b', n: 1 }),
    row('c', { id: 'x', n: 2 }),
  ])
  expect(replica.get(t, 'a')).toEqual({ id: 'a', title: 'A' })
  expect(replica.get(t, 'b')).toEqual({ id: 'b', n: 1 })
  expect(replica.get(t, 'c')).toEqual({ id: 'c', n: 2 })
})

test('a payload with its id is the record, without a copy', () => {
  const named = row('b', { id: 'b', n: 1 })
  expect(replicaOf([named]).replica.get(t, 'b')).toBe(named.p)
})

test('a record is the same by reference until it changes', () => {
  const { replica } = replicaOf([row('a', { n: 1 }), row('b', { n: 1 })])
  const [a, b] = replica.getMany(t, ['a', 'b'])
  apply(replica, row('b', { n: 2 }))
  expect(replica.get(t, 'a')).toBe(a)
  expect(replica.get(t, 'b')).not.toBe(b)
  expect(replica.get(t, 'b')).toEqual({ id: 'b', n: 2 })
})

test('a record with equal fields in another version stays the same object', () => {
  const { replica } = replicaOf([row('a', { n: 1 }, 1)])
  const [record, all] = [replica.get(t, 'a'), replica.all(t)]
  apply(replica, row('a', { n: 1 }, 2))
  expect(replica.get(t, 'a')).toBe(record)
  expect(replica.all(t)).toBe(all)
  expect(replica.confirmed(t, 'a')).toEqual({ t, id: 'a', v: 2, p: { n: 1 } })
})

test('rows that share one payload have separate records', () => {
  const shared = { n: 1 }
  const { replica } = replicaOf([row('a', shared), row('b', shared)])
  const expected = [
    { id: 'a', n: 1 },
    { id: 'b', n: 1 },
  ]
  expect(replica.getMany(t, ['a', 'b'])).toEqual(expected)
  expect(replica.getMany(t, ['a', 'b'])).toEqual(expected)
})

test('a record with equal fields in every version stays the same object, even with a pending write', () => {
  const { replica } = replicaOf([row('a', { n: 1 })])
  const query = replica.query(t, { orderBy: 'n' })
  query.subscribe(() => {})
  replica.apply([], { add: [{ id: 'tx', ops: [{ op: 'u', t, id: 'a', p: { n: 5 } }] }] })
  const record = replica.get(t, 'a')
  for (const v of [2, 3, 4]) {
    apply(replica, row('a', { n: 10 * v }, v))
    expect([replica.get(t, 'a'), replica.all(t)[0], query.rows[0]]).toEqual([record, record, record])
    expect(replica.get(t, 'a')).toBe(record)
    expect(query.rows[0]).toBe(record)
  }
  replaceAll(replica, [row('a', { n: 7 }, 9)])
  expect(replica.get(t, 'a')).toBe(record)
})

test('a record cannot be changed, and neither can the copy of rows', () => {
  const { replica } = replicaOf([row('a', { n: 1 }), row('b', { id: 'b', n: 1 })])
  for (const record of replica.all(t)) expect(Object.isFrozen(record)).toBe(true)
  expect(Object.isFrozen(replica.query(t, {}).rows)).toBe(true)
})

test('all returns every record, and the same array until one changes', () => {
  const { replica } = replicaOf([row('a'), row('b')])
  const all = replica.all(t)
  expect(all.map(({ id }) => id).sort()).toEqual(['a', 'b'])
  expect(replica.all(t)).toBe(all)
  apply(replica, row('c'))
  expect(replica.all(t)).toHaveLength(3)
  expect(replica.all('Other')).toEqual([])
})

test('a missing type or record reads as nothing', () => {
  const { replica } = emptyReplica()
  expect(replica.get(t, 'a')).toBeUndefined()
  expect(replica.confirmed(t, 'a')).toBeUndefined()
  expect(replica.getMany(t, ['a'])).toEqual([undefined])
  expect(replica.count(t)).toBe(0)
  expect(replica.rows.of(t).get('a')).toBeUndefined()
})

test('rows for a fold are the current ones, even after a swap', () => {
  const { replica } = replicaOf([row('a', { n: 1 })])
  const { rows } = replica
  replaceAll(replica, [row('a', { n: 2 })])
  expect(rows.of(t).get('a')?.p).toEqual({ n: 2 })
})

const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']

test.each(inherited)('invariant 53: %s is an ordinary name of a type, an id or a field', (name) => {
  const { replica } = emptyReplica({ indexes: new Map([[name, [[name]]]]) })
  const fields = JSON.parse(`{ ${JSON.stringify(name)}: 1 }`)
  replaceAll(replica, [
    { t: name, id: name, p: fields },
    { t: name, id: 'other', p: {} },
  ])
  expect(replica.get(name, name)).toEqual({ ...fields, id: name })
  expect(Object.getPrototypeOf(replica.get(name, name))).toBe(Object.prototype)
  expect(replica.get(name, 'hasOwn')).toBeUndefined()
  expect(replica.all('valueOf')).toEqual([])
  const ids = (where: string) => replica.query(name, { where: JSON.parse(where) }).rows.map(({ id }) => id)
  expect(ids(`{ ${JSON.stringify(name)}: 1 }`)).toEqual([name])
  expect(ids(`{ ${JSON.stringify(name)}: null }`)).toEqual(['other'])
  expect(replica.query(name, { orderBy: [[name, 'desc']] }).rows.map(({ id }) => id)).toEqual([name, 'other'])
  expect(Object.keys(Object.prototype)).toEqual([])
})
