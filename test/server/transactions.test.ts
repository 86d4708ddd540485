import { expect, test, vi } from 'vitest'
import { MemoryLog } from '../../src/server/index.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'
import { remove, update } from './harness.ts'
import { make, put, tx, txServiceOf } from './tx-support.ts'

test('results are in the order of the transactions, with the head', async () => {
  const { send } = txServiceOf()
  expect(
    await send([tx('a', [make('1'), make('2')]), tx('b', [remove('1')]), tx('c', [remove('9')])]),
  ).toEqual({
    sid: 3,
    epoch: expect.any(String),
    caller: expect.any(String),
    features: ['was', 'restores', 'tx'],
    results: [
      { id: 'a', sid: 2 },
      { id: 'b', sid: 3 },
      { id: 'c', sid: 3 },
    ],
  })
})

test('an insert gets its owner, and comes back with it', async () => {
  const { send, json } = txServiceOf()
  await send([tx('a', [make('1', { n: 1 })])])
  const p = { n: 1, userId: 'ann' }
  expect((await json('bootstrap')).rows).toMatchObject([{ id: '1', p }])
  expect((await json('delta?since=0')).frames).toMatchObject([{ op: 'i', id: '1', p, tx: 'a' }])
})

test('an insert of a member belongs to the organization', async () => {
  const { send, json } = txServiceOf({ ownerField: 'organizationId' })
  await send([tx('a', [make('1')])])
  expect((await json('bootstrap', { user: 'bob' })).rows).toMatchObject([{ p: { organizationId: 'acme' } }])
  expect((await send([tx('a', [update('1', { n: 1 })])], 'bob')).results).toEqual([{ id: 'a', sid: 2 }])
})

test.each([
  ['i', 'absent', make('9'), 'accepted'],
  ['i', 'another owner’s', make('bobs'), 'exists'],
  ['i', 'present', make('anns'), 'exists'],
  ['put', 'absent', put('9'), 'accepted'],
  ['put', 'another owner’s', put('bobs'), 'exists'],
  ['put', 'present', put('anns'), 'accepted'],
  ['u', 'absent', update('9', { n: 1 }), 'not_found'],
  ['u', 'another owner’s', update('bobs', { n: 1 }), 'not_found'],
  ['u', 'present', update('anns', { n: 1 }), 'accepted'],
  ['d', 'absent', remove('9'), 'accepted'],
  ['d', 'another owner’s', remove('bobs'), 'accepted'],
  ['d', 'present', remove('anns'), 'accepted'],
])('%s of a record that is %s', async (_op, _record, op, verdict) => {
  const { send, codeOf, json } = txServiceOf()
  await send([tx('bobs', [make('bobs', { secret: 1 })])], 'bob')
  await send([tx('anns', [make('anns', { a: 1, b: 1 })])])
  expect(await codeOf(op)).toBe(verdict)
  expect((await json('bootstrap', { user: 'bob' })).rows).toMatchObject([{ v: 1, p: { secret: 1 } }])
})

test('a `put` replaces the whole record by an insert, and deleting an absent record makes no frame', async () => {
  const { send, json } = txServiceOf()
  await send([tx('a', [make('1', { a: 1 })])])
  await send([tx('b', [put('1', { b: 2 }), remove('2')])])
  expect((await json('delta?since=1')).frames).toMatchObject([{ op: 'i', p: { b: 2, userId: 'ann' } }])
  expect((await json('bootstrap')).rows[0]?.p).toEqual({ b: 2, userId: 'ann' })
})

test('the error for a record of another owner is the same as for an own or absent one', async () => {
  const { send } = txServiceOf()
  await send([tx('a', [make('1', { secret: 1 })])], 'bob')
  const [own, foreign] = [tx('b', [make('2'), make('2')]), tx('c', [make('1')])]
  const texts = (await send([own, foreign])).results.map(({ id: _, ...rest }) => JSON.stringify(rest))
  expect(texts[1]).toBe(texts[0]?.replace('Todo 2', 'Todo 1'))
  const gone = tx('d', [{ ...make('1'), unchangedSince: 0 }])
  expect((await send([gone])).results).toMatchObject([{ error: { code: 'exists' } }])
})

test.each([
  ['an insert for another owner', make('9', { userId: 'bob' })],
  ['an insert for the owner null', make('9', { userId: null })],
  ['a put for another owner', put('1', { userId: 'bob' })],
  ['moving a record to another owner', update('1', { userId: 'bob' })],
  ['moving an absent record to another owner', update('9', { userId: 'bob' })],
])('a write to another owner is forbidden: %s', async (_, op) => {
  const { send, codeOf, json } = txServiceOf()
  await send([tx('a', [make('1')])])
  expect(await codeOf(op)).toBe('forbidden')
  expect((await json('delta?since=1')).frames).toEqual([])
})

test('a write may name its own owner', async () => {
  const { codes } = txServiceOf()
  const ops = [make('1', { userId: 'ann' }), update('1', { userId: 'ann' }), put('1', { userId: 'ann' })]
  expect(await codes([tx('a', ops)])).toEqual(['accepted'])
})

test('a rejected transaction does nothing, and stops only those that require it', async () => {
  const { codes, json } = txServiceOf()
  const txs = [
    tx('a', [make('1'), update('nowhere', {})]),
    tx('b', [make('2')]),
    tx('c', [make('3')], { requires: ['a'] }),
    tx('d', [make('4')], { requires: ['c', 'b'] }),
    tx('e', [make('5')], { requires: ['b'] }),
  ]
  expect(await codes(txs)).toEqual([
    'not_found',
    'accepted',
    'dependency_rejected',
    'dependency_rejected',
    'accepted',
  ])
  expect((await json('bootstrap')).rows.map(({ id }) => id)).toEqual(['2', '5'])
})

test('a change after `unchangedSince` is a conflict, unless one of the `bases` made it', async () => {
  const { service, send, codes } = txServiceOf()
  await send([tx('a', [make('1')])])
  await send([tx('b', [update('1', { n: 1 })])])
  const stale = { ...update('1', { n: 2 }), unchangedSince: 1 }
  expect(await codes([tx('c', [stale]), tx('d', [stale], { bases: ['b'] })])).toEqual([
    'conflict',
    'accepted',
  ])
  await service.write([update('1', { n: 9 })])
  expect(await codes([tx('e', [stale], { bases: ['b', 'd'] })])).toEqual(['conflict'])
})

test('a condition on another history is a conflict, unless the record never changed', async () => {
  const { send, codes } = txServiceOf()
  const { epoch } = await send([tx('a', [make('1')]), tx('b', [make('2')])])
  const asked = { ...update('1', { n: 1 }), unchangedSince: 2 }
  const made = { ...put('9'), unchangedSince: 2 }
  const builtOn = { ...update('9', { n: 2 }), unchangedSince: 2 }
  const other = { epoch: 'other' }
  expect(await codes([tx('c', [asked], other), tx('d', [asked], { epoch })])).toEqual([
    'conflict',
    'accepted',
  ])
  expect(
    await codes([
      tx('e', [made], other),
      tx('f', [builtOn], { ...other, bases: ['e'] }),
      tx('g', [update('1', { n: 3 })], other),
      tx('h', [{ ...update('1', { n: 4 }), unchangedSince: 6 }], { epoch: 7 }),
    ]),
  ).toEqual(['accepted', 'accepted', 'accepted', 'accepted'])
})

test('the log is asked for its history once for all conditions of a request', async () => {
  const { log, send, codes } = txServiceOf()
  const { epoch } = await send([tx('a', [make('1')])])
  const position = vi.spyOn(log, 'position')
  const asked = { ...update('1', { n: 1 }), unchangedSince: 1 }
  const txs = ['b', 'c', 'd'].map((id) => tx(id, [asked], { epoch, bases: ['b', 'c'] }))
  expect(await codes(txs)).toEqual(['accepted', 'accepted', 'accepted'])
  // And once where it stands in the end.
  expect(position).toHaveBeenCalledTimes(2)
})

test('the epoch of a transaction is not part of its body', async () => {
  const { send, codes } = txServiceOf()
  const { epoch } = await send([tx('a', [make('1')])])
  const asked = { ...update('1', { n: 1 }), unchangedSince: 1 }
  expect(await codes([tx('b', [asked], { epoch: 'other' }), tx('b', [asked], { epoch })])).toEqual([
    'conflict',
    'conflict',
  ])
})

test('invariant 19: a transaction that is sent many times, even concurrently, happens once', async () => {
  const { send, json } = txServiceOf()
  const twice = [tx('a', [make('1')]), tx('a', [make('1')])]
  const answers = await Promise.all([send(twice), send(twice), send(twice)])
  const results = answers.flatMap((answer) => answer.results)
  expect(results).toEqual(results.map(() => ({ id: 'a', sid: 1 })))
  expect((await json('delta?since=0')).frames).toHaveLength(1)
})

test('invariant 20: a log that fails in the middle keeps no record, no frame and no verdict', async () => {
  class Failing extends MemoryLog {
    failures = 1
    override async transact(...[transaction, judge]: Parameters<MemoryLog['transact']>) {
      return super.transact(transaction, (before, op, changed) => {
        if (op.id === '2' && this.failures-- > 0) throw new Error('The disk is gone.')
        return judge(before, op, changed)
      })
    }
  }
  const database = new Failing({ clock: new VirtualClock(), random: seededRandom(1) })
  const { post, send, json } = txServiceOf({ database })
  const txs = [tx('a', [make('1'), make('2')])]
  expect((await post(JSON.stringify({ txs }))).status).toBe(500)
  expect(await json('delta?since=0')).toMatchObject({ sid: 0, frames: [] })
  expect((await send(txs)).results).toEqual([{ id: 'a', sid: 2 }])
})

test('invariant 21: after a lost response, the same result comes again, and no second frame', async () => {
  const { service, log, send, json } = txServiceOf()
  const txs = [tx('a', [make('1')]), tx('b', [make('1')]), tx('c', [make('2')], { requires: ['b'] })]
  const { results } = await send(txs)
  expect(results).toMatchObject([{ sid: 1 }, { error: { code: 'exists' } }, { error: {} }])
  await service.write([remove('1')])
  await log.trim(2)
  expect(await send(txs)).toMatchObject({ sid: 2, results })
  expect(await json('delta?since=2')).toMatchObject({ sid: 2, frames: [] })
})

test('key order and client state do not change a body; other ops and requirements do', async () => {
  const { post, codes } = txServiceOf()
  await codes([tx('a', [make('1', { a: 1, b: { c: 1, d: 2 } })])])
  const again =
    '{"requires":[],"ops":[{"p":{"b":{"d":2,"c":1},"a":1},"id":"1","t":"Todo","op":"i"}],"id":"a",'
  const answer = await post(`{"txs":[${again}"since":7,"bases":["x"]}]}`)
  expect(await answer.json()).toMatchObject({ sid: 1, results: [{ id: 'a', sid: 1 }] })
  const body = [make('1', { a: 1, b: { c: 1, d: 2 } })]
  const other = [tx('a', [make('1', { a: 2 })]), tx('a', body, { requires: ['x'] })]
  expect(await codes(other)).toEqual(['id_reused', 'id_reused'])
})

test('another body with the same id is rejected with the verdict on the first body', async () => {
  const { send } = txServiceOf()
  await send([tx('a', [make('1')]), tx('b', [make('1')])])
  const { results } = await send([tx('a', [make('2')]), tx('b', [make('2')])])
  expect(results).toMatchObject([
    { id: 'a', error: { code: 'id_reused', details: { sid: 1 } } },
    { id: 'b', error: { code: 'id_reused', details: { error: { code: 'exists' } } } },
  ])
})

test('the id of a transaction belongs to its caller', async () => {
  const { send, codes } = txServiceOf()
  await send([tx('a', [make('1')])])
  expect(await codes([tx('a', [make('2')]), tx('b', [make('3')], { requires: ['a'] })], 'bob')).toEqual([
    'accepted',
    'accepted',
  ])
  expect(await codes([tx('c', [make('4')], { requires: ['b'] })])).toEqual(['dependency_rejected'])
})

test('all frames of a transaction are pushed in one message, with its id', async () => {
  const { send, connect } = txServiceOf()
  const socket = await connect()
  const { results } = await send([tx('a', [make('1'), make('2'), update('1', { n: 1 })])])
  expect(results).toEqual([{ id: 'a', sid: 3 }])
  expect(socket.pushes).toMatchObject([{ since: 0, sid: 3, frames: [{ tx: 'a' }, { tx: 'a' }, { tx: 'a' }] }])
})

test('a verdict is not returned without credentials', async () => {
  const { post } = txServiceOf()
  expect((await post('{', { user: '' })).status).toBe(401)
})
