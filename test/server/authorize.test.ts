import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { defineModels } from '../../src/models/models.ts'
import type { Authorize } from '../../src/server/index.ts'
import { insert, remove, update } from './harness.ts'
import { make, put, tx, txServiceOf } from './tx-support.ts'

test('`authorize` gets the transaction and its caller, and allows the transaction by returning undefined', async () => {
  const seen: unknown[] = []
  const { send } = txServiceOf({
    authorize: async (...args) => {
      seen.push(args)
    },
  })
  expect((await send([tx('a', [make('1')], { bases: ['z'] })])).results).toEqual([{ id: 'a', sid: 1 }])
  const transaction = { id: 'a', since: 0, ops: [make('1')], bases: ['z'], requires: [] }
  const caller = { userId: 'ann', organizationId: 'acme' }
  expect(seen).toEqual([[transaction, caller, { read: expect.any(Function) }]])
})

test.each([
  [{ message: 'Not on Sundays.' }, { code: 'forbidden', message: 'Not on Sundays.' }],
  [
    { code: 'invalid', message: 'No.', details: { day: 7 } },
    { code: 'invalid', message: 'No.', details: { day: 7 } },
  ],
] as const)('a transaction that `authorize` refuses is rejected: %o', async (answer, error) => {
  const { send, json } = txServiceOf({ authorize: () => answer })
  expect(await send([tx('a', [make('1')])])).toMatchObject({ sid: 0, results: [{ id: 'a', error }] })
  expect((await json('bootstrap')).rows).toEqual([])
})

test('a later answer of `authorize` does not change a verdict', async () => {
  let answer: ReturnType<Authorize>
  const { codes } = txServiceOf({ authorize: () => answer })
  expect(await codes([tx('a', [make('1')])])).toEqual(['accepted'])
  answer = { message: 'No longer.' }
  expect(await codes([tx('a', [make('1')]), tx('b', [make('2')])])).toEqual(['accepted', 'forbidden'])
  answer = undefined
  expect(await codes([tx('a', [make('1')]), tx('b', [make('2')])])).toEqual(['accepted', 'forbidden'])
})

test('if `authorize` throws, nothing is decided, and the response does not quote the error', async () => {
  let broken = true
  const { post, send, lines } = txServiceOf({
    authorize: () => {
      if (broken) throw new Error('db:secret@host is down')
      return undefined
    },
  })
  const txs = [tx('a', [make('1')])]
  const response = await post(JSON.stringify({ txs }))
  expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '5'])
  expect(await response.text()).not.toContain('secret')
  expect(lines.join()).toContain('is down')
  broken = false
  expect((await send(txs)).results).toEqual([{ id: 'a', sid: 1 }])
})

test.each([
  ['null', null],
  ['false', false],
  ['true', true],
  ['a string', 'no'],
  ['an empty object', {}],
  ['no message', { code: 'forbidden' }],
  ['an empty message', { message: '' }],
  ['an unknown code', { code: 'nope', message: 'No.' }],
  ['details that are not JSON', { message: 'No.', details: () => {} }],
  ['mayChangeOwner: false', { mayChangeOwner: false }],
  ['mayChangeOwner and a message', { mayChangeOwner: true, message: 'No.' }],
])('an invalid result of `authorize` decides nothing, and is logged: %s', async (_, answer) => {
  const { post, lines, json } = txServiceOf({ authorize: () => answer as Awaited<ReturnType<Authorize>> })
  const response = await post(JSON.stringify({ txs: [tx('a', [make('1', { userId: 'bob' })])] }))
  expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '5'])
  expect(lines.join()).toContain('`authorize` must return undefined to accept, ')
  expect((await json('bootstrap', { user: 'bob' })).rows).toEqual([])
})

test('invariant 46: `mayChangeOwner` allows giving records away, but not taking records of others', async () => {
  const { send, codeOf, json } = txServiceOf({ authorize: () => ({ mayChangeOwner: true }) })
  await send([tx('a', [make('1', { n: 1 })])])
  await send([tx('b', [make('2')])], 'bob')
  expect(await codeOf(update('1', { userId: 'bob' }))).toBe('accepted')
  expect((await json('delta?since=2')).frames).toMatchObject([{ op: 'd', id: '1' }])
  expect((await json('delta?since=2', { user: 'bob' })).frames).toMatchObject([
    { op: 'i', id: '1', p: { n: 1, userId: 'bob' } },
  ])
  expect(await codeOf(update('2', { userId: 'ann' }))).toBe('not_found')
  expect(await codeOf(put('2', { userId: 'ann' }))).toBe('exists')
  expect(await codeOf(make('3', { userId: null }))).toBe('invalid')
})

const models = defineModels({
  Todo: z.object({
    userId: z.string(),
    title: z.string(),
    n: z.optional(z.number()),
    tags: z.optional(z.array(z.string())),
  }),
})

test('a write that breaks its model is rejected as invalid, with the names of the fields', async () => {
  const { send, codes } = txServiceOf({ models })
  const { results } = await send([tx('a', [make('1', { title: 1, tags: ['a', 2] })])])
  const issue = (field: string) => ({ t: 'Todo', id: '1', field, message: expect.any(String) })
  expect(results).toMatchObject([
    { error: { code: 'invalid', details: { issues: [issue('title'), issue('tags.1')] } } },
  ])
  expect(
    await codes([
      tx('b', [make('1', { title: 'x' })]),
      tx('c', [put('1', {})]),
      tx('d', [update('1', { title: null })]),
      tx('e', [update('1', { n: 1 }), remove('1')]),
      tx('f', [{ ...make('2', { anything: 1 }), t: 'Undeclared' }]),
    ]),
  ).toEqual(['accepted', 'invalid', 'invalid', 'accepted', 'accepted'])
})

test('a verdict lists only the first issues of a write with many', async () => {
  const { send } = txServiceOf({ models })
  const answer = await send([tx('a', [make('1', { title: 'x', tags: Array(10_000).fill(1) })])])
  const fields = Array.from({ length: 20 }, (_, at) => ({ field: `tags.${at}` }))
  expect(answer.results).toMatchObject([{ error: { code: 'invalid', details: { issues: fields } } }])
  expect(JSON.stringify(answer).length).toBeLessThan(10_000)
})

test('the models also apply to writes of the service', async () => {
  const { service } = txServiceOf({ models })
  const details = { issues: [{ t: 'Todo', id: '1', field: 'title', message: expect.any(String) }] }
  const message = expect.stringMatching(/^The Todo 1 breaks its model at `title`: [^.]+\.$/)
  await expect(service.write([insert('1', {})])).rejects.toMatchObject({
    reason: 'invalid',
    message,
    details,
  })
})

test('a record that broke its model before can be repaired field by field, but not made worse', async () => {
  const { log, codeOf } = txServiceOf({ models })
  const p = { userId: 'ann', title: 1, n: 'x' }
  await log.write([{ op: 'i', t: 'Todo', id: '1', p }], () => ({
    after: { owner: 'ann', p },
    changes: [{ owner: 'ann', change: { op: 'i', p } }],
  }))
  expect(await codeOf(update('1', { n: 'y' }))).toBe('invalid')
  expect(await codeOf(update('1', { tags: [1] }))).toBe('invalid')
  expect(await codeOf(update('1', { n: 1 }))).toBe('accepted')
  expect(await codeOf(update('1', { title: 'mended' }))).toBe('accepted')
})

test('a rule about several fields is checked on the merged record', async () => {
  const ranged = z
    .object({ userId: z.string(), from: z.number(), to: z.number() })
    .check(z.refine(({ from, to }) => from <= to, { path: ['to'], error: 'ends before it begins' }))
  const { send, codeOf } = txServiceOf({ models: { Todo: ranged } })
  await send([tx('a', [make('1', { from: 1, to: 2 })])])
  expect(await codeOf(update('1', { from: 3 }))).toBe('invalid')
  expect(await codeOf(update('1', { from: 3, to: 4 }))).toBe('accepted')
})
