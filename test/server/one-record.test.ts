import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { defineModels } from '../../src/models/models.ts'
import type { Payload } from '../../src/protocol/json.ts'
import { bytesOf } from '../../src/server/log/check-size.ts'
import { Copies } from '../../src/server/log/copies.ts'
import { ownershipJudge } from '../../src/server/log/ownership.ts'
import { insert, remove, update } from './harness.ts'
import { asService } from './log-contract/support.ts'
import { make, put, tx, txServiceOf } from './tx-support.ts'

test('the time for many ops on a large record depends only on the length of the ops', async () => {
  const { codes } = txServiceOf()
  const fields = Object.fromEntries(Array.from({ length: 80_000 }, (_, n) => [`f${n.toString(36)}`, 1]))
  await codes([tx('a', [make('1', fields)])])
  const began = performance.now()
  const ops = Array.from({ length: 1_000 }, (_, n) => update('1', { n }))
  expect(await codes([tx('b', ops)])).toEqual(['accepted'])
  expect(performance.now() - began).toBeLessThan(5_000)
})

test('the length of a copy is known after every change', () => {
  const fields = fc.dictionary(fc.constantFrom('a', 'b', 'ü', '"', ''), fc.jsonValue({ maxDepth: 1 }), {
    maxKeys: 3,
  })
  fc.assert(
    fc.property(fc.array(fields, { minLength: 1 }), (all) => {
      const copies = new Copies()
      let p: Payload | undefined
      let expected: Payload = {}
      for (const one of all) {
        const given = JSON.parse(JSON.stringify(one))
        expected = { ...expected, ...given }
        const { p: next, is } = copies.merge(p, given)
        expect(JSON.stringify(next)).toBe(JSON.stringify(expected))
        if (p) expect(is).toBe(bytesOf(expected))
        p = next
      }
    }),
  )
})

test('the record is measured after each op of a transaction', async () => {
  const { codes } = txServiceOf({ maxRecordBytes: 100 })
  const text = 'x'.repeat(40)
  const growing = [make('1'), update('1', { a: text }), update('1', { b: text })]
  expect(await codes([tx('a', growing)])).toEqual(['too_large'])
  expect(await codes([tx('b', growing.slice(0, 2))])).toEqual(['accepted'])
  const turning = [update('1', { n: 1 }), update('1', { a: 'x' }), update('1', { b: text })]
  expect(await codes([tx('c', turning)])).toEqual(['accepted'])
})

test('the frame of an op does not contain changes of later ops', async () => {
  const { log, codes } = txServiceOf()
  await codes([
    tx('a', [
      make('1'),
      update('1', { n: 1 }),
      update('1', { n: 2 }),
      put('1', { m: 1 }),
      update('1', { m: 2 }),
    ]),
  ])
  await log.write([update('1', { m: 3 }), update('1', { userId: 'bob' }), update('1', { m: 4 })], asService)
  const { changes } = await log.changes(0, 100)
  const told = (owner: string) =>
    changes
      .filter((change) => change.owner === owner)
      .map(({ frame }) => [JSON.parse(frame).op, JSON.parse(frame).p])
  expect(told('ann')).toEqual([
    ['i', { userId: 'ann' }],
    ['u', { n: 1 }],
    ['u', { n: 2 }],
    ['i', { userId: 'ann', m: 1 }],
    ['u', { m: 2 }],
    ['u', { m: 3 }],
    ['d', undefined],
  ])
  expect(told('bob')).toEqual([
    ['i', { userId: 'bob', m: 3 }],
    ['u', { m: 4 }],
  ])
})

test('a rejected transaction leaves the record unchanged', async () => {
  const { log, codes, json } = txServiceOf()
  await log.write([insert('1', { n: 0 })], asService)
  const ops = [update('1', { n: 1 }), update('1', { n: 2 }), update('none', {})]
  expect(await codes([tx('a', ops)])).toEqual(['not_found'])
  expect((await json('bootstrap')).rows).toMatchObject([{ v: 1, p: { n: 0 } }])
})

test('an op that breaks a field which it does not write is refused, even after a valid op', async () => {
  const schema = z
    .looseObject({ from: z.number(), to: z.number() })
    .refine(({ from, to }) => from <= to, { path: ['to'], message: 'ends before it begins' })
  const { codes } = txServiceOf({ models: { Todo: schema } })
  await codes([tx('a', [make('1', { from: 1, to: 3 })])])
  expect(await codes([tx('b', [update('1', { from: 2 }), update('1', { from: 4 })])])).toEqual(['invalid'])
  expect(await codes([tx('c', [update('1', { from: 2 }), update('1', { from: 3 })])])).toEqual(['accepted'])
})

test('a record is checked against its model once, after the last op', async () => {
  let checks = 0
  const schema = z.looseObject({ n: z.number() }).refine(() => {
    checks += 1
    return true
  })
  const { codes } = txServiceOf({ models: { Todo: schema } })
  const ops = Array.from({ length: 900 }, (_, n) => update('1', { n }))
  expect(await codes([tx('a', [make('1', { n: 0 }), ...ops])])).toEqual(['accepted'])
  expect(checks).toBe(1)
  expect(await codes([tx('b', [update('1', { n: 'x' }), ...ops])])).toEqual(['accepted'])
  expect(await codes([tx('c', [update('1', { n: 'x' }), update('1', { m: 1 })])])).toEqual(['invalid'])
  expect(await codes([tx('d', [update('1', { n: 'x' }), remove('1')])])).toEqual(['accepted'])
  expect(await codes([tx('e', [make('1', { n: 'x' }), update('1', { m: 1 })])])).toEqual(['invalid'])
})

test('a replaced record is checked against its model, whatever issues it had before', async () => {
  const { log, codes } = txServiceOf({ models: { Todo: z.looseObject({ n: z.number() }) } })
  await log.write([insert('1', {})], asService)
  expect(await codes([tx('a', [update('1', { m: 1 })])])).toEqual(['accepted'])
  expect(await codes([tx('b', [update('1', { m: 2 }), put('1', { m: 3 })])])).toEqual(['invalid'])
})

test('a log without copies has each op checked separately', () => {
  const models = defineModels({ Todo: z.looseObject({ n: z.number() }) })
  const judge = ownershipJudge({ ownerField: 'userId', models, owners: ['ann'] })
  expect(judge(undefined, make('1', { n: 1 }), false).changes).toHaveLength(1)
  expect(() => judge(undefined, make('1'), false)).toThrow('breaks its model')
})
