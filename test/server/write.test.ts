import { describe, expect, test } from 'vitest'
import type { TxOp } from '../../src/protocol/tx.ts'
import { insert, remove, serviceOf, update } from './harness.ts'

test('`write` refuses anything but an array of ops with one sentence', async () => {
  const { service } = serviceOf()
  const one: unknown = insert('1')
  await expect(service.write(one as TxOp[])).rejects.toMatchObject({
    name: 'ConfigurationError',
    message: '`ops` must be an array of ops.',
  })
})

test.each([
  ['exists', [insert('1')]],
  ['not_found', [update('absent', {})]],
  ['conflict', [{ ...update('1', { n: 2 }), unchangedSince: 0 }]],
  ['invalid', [{ op: 'i', t: 'Todo', id: '2', p: {} } as TxOp]],
  ['invalid', [update('1', { userId: null })]],
])('a write that breaks a rule is refused as a whole: %s', async (reason, ops) => {
  const { service, json } = serviceOf()
  await service.write([insert('1')])
  const before = await json('bootstrap')
  await expect(service.write([insert('9'), ...ops])).rejects.toMatchObject({ name: 'RejectedError', reason })
  expect(await json('bootstrap')).toEqual(before)
  expect(await json('delta?since=1')).toMatchObject({ sid: 1, frames: [] })
})

describe('an invalid op', () => {
  let deep: object = {}
  for (let level = 0; level < 600; level += 1) deep = { deep }
  const cyclic: { self?: object } = {}
  cyclic.self = cyclic

  test.each([
    ['a Date', insert('2', { when: new Date(0) })],
    ['a NaN', insert('2', { n: Number.NaN })],
    ['a nested undefined', insert('2', { n: { m: undefined } })],
    ['a Map', insert('2', { m: new Map([['a', 1]]) })],
    ['an empty Set', insert('2', { deep: [{ s: new Set() }] })],
    ['bytes', insert('2', { b: new Uint8Array(2) })],
    ['a RegExp', insert('2', { r: /x/ })],
    ['fields that are a Map', { op: 'i', t: 'Todo', id: '2', p: new Map([['userId', 'ann']]) }],
    ['a NUL', update('1', { n: 'a\0' })],
    ['half a surrogate pair', update('1', { n: '\ud800' })],
    ['a long id', remove('x'.repeat(256))],
    ['a long type', { op: 'd', t: 'x'.repeat(256), id: '1' }],
    ['an empty owner', update('1', { userId: '' })],
    ['a long owner', update('1', { userId: 'x'.repeat(256) })],
    ['a bigint', insert('2', { n: 1n })],
    ['too deep', insert('2', deep)],
    ['cyclic', insert('2', cyclic)],
    ['no fields', { op: 'i', t: 'Todo', id: '2' }],
    ['an unknown op', { op: 'x', t: 'Todo', id: '2' }],
    ['a reserved type', { op: 'd', t: '__proto__', id: '2' }],
    ['a reserved field', update('1', JSON.parse('{"__proto__": 1}'))],
  ])('is refused: %s', async (_, op) => {
    const { service } = serviceOf()
    await service.write([insert('1')])
    await expect(service.write([op as TxOp])).rejects.toMatchObject({ reason: 'invalid' })
  })
})

test('an undefined field is left out', async () => {
  const { service, json } = serviceOf()
  await service.write([insert('1', { n: undefined })])
  expect((await json('bootstrap')).rows[0]?.p).toEqual({ userId: 'ann' })
})

test('`write` copies its ops: later changes of them have no effect', async () => {
  const { service, json } = serviceOf()
  const tags = ['a']
  await service.write([insert('1', { tags })])
  tags.push('b')
  expect((await json('bootstrap')).rows).toMatchObject([{ p: { tags: ['a'] } }])
})
