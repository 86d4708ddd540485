import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { defineModels } from '../../src/models/models.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { insert, remove, update } from './harness.ts'
import { tx, txServiceOf } from './tx-support.ts'

test('invariant 74: `authorize` gets only the remaining ops, and is not called if there are none', async () => {
  const seen: (readonly TxOp[])[] = []
  const { service, codes, json } = txServiceOf({
    authorize: ({ ops }) => {
      seen.push(ops)
      return ops.some((op) => op.op === 'd' || 'b' in op.p) ? { message: 'No.' } : undefined
    },
  })
  await service.write([insert('1', { a: 1, b: 1 })])
  const sent = [
    tx('a', [
      { ...update('1', { a: 2, b: 2 }), was: { b: 9 } },
      { ...remove('1'), was: { a: 1 } },
    ]),
    tx('b', [{ ...remove('1'), was: { a: 1 } }]),
    tx('c', [{ ...update('1', { b: 2 }), was: { b: 1 } }]),
  ]
  expect(await codes(sent)).toEqual(['accepted', 'accepted', 'forbidden'])
  expect(seen).toEqual([[update('1', { a: 2 })], [update('1', { b: 2 })]])
  expect((await json('bootstrap')).rows).toMatchObject([{ p: { a: 2, b: 1 } }])
})

test('`authorize` gets the remaining ops after the earlier transactions of the request', async () => {
  const { service, codes } = txServiceOf({
    authorize: ({ ops }) => (ops.length > 1 ? { message: 'No.' } : undefined),
  })
  await service.write([insert('1', { a: 1 })])
  const both = [update('1', { n: 1 }), { ...update('1', { a: 2 }), was: { a: 1 } }]
  expect(await codes([tx('a', [{ ...update('1', { a: 2 }), was: { a: 1 } }]), tx('b', both)])).toEqual([
    'accepted',
    'accepted',
  ])
})

test('a field that `prepare` sets stays, even if the op removes it', async () => {
  const { service, codes, json } = txServiceOf({
    prepare: (op) => (op.op === 'd' ? op : { ...op, p: { ...op.p, by: 'server' } }),
  })
  await service.write([insert('1', { by: 'ann', n: 1 })])
  expect(await codes([tx('a', [{ ...update('1', {}), unset: ['by', 'n'] }])])).toEqual(['accepted'])
  expect((await json('bootstrap')).rows).toMatchObject([{ p: { userId: 'ann', by: 'server' } }])
})

test('a required field cannot be removed, and an optional one can', async () => {
  const models = defineModels({
    Todo: z.object({ userId: z.string(), title: z.string(), note: z.optional(z.string()) }),
  })
  const { service, codes, json } = txServiceOf({ models })
  await service.write([insert('1', { title: 'One', note: 'A' })])
  const without = (field: string, value: string) => ({
    ...update('1', {}),
    unset: [field],
    was: { [field]: value },
  })
  const sent = [
    tx('a', [without('title', 'One')]),
    tx('b', [without('note', 'A')]),
    tx('c', [without('title', 'Two')]),
  ]
  expect(await codes(sent)).toEqual(['invalid', 'accepted', 'accepted'])
  expect((await json('bootstrap')).rows).toMatchObject([{ p: { userId: 'ann', title: 'One' } }])
})

test('a repeated transaction gets its verdict, however the record has changed', async () => {
  const { service, send } = txServiceOf()
  await service.write([insert('1', { n: 1 })])
  const sent = [tx('a', [{ ...update('1', { n: 2 }), was: { n: 1 } }])]
  const { results } = await send(sent)
  await service.write([update('1', { n: 1 })])
  expect((await send(sent)).results).toEqual(results)
})
