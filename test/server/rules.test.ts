import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { Deferred } from '../../src/base/deferred.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { type Authorize, type Prepare, WriteRejectedError } from '../../src/server/index.ts'
import { insert, remove, update } from './harness.ts'
import { make, put, tx, txServiceOf } from './tx-support.ts'

const acme = { ownerField: 'organizationId' } as const

test('a rule lets only its author edit a comment', async () => {
  const authorize: Authorize = async ({ ops }, { userId }, { read }) => {
    for (const { op, t, id } of ops) {
      const comment = op === 'i' ? undefined : await read(t, id)
      if (comment && comment.author !== userId)
        throw new WriteRejectedError('forbidden', 'This comment is by somebody else.')
    }
    return undefined
  }
  const { codeOf } = txServiceOf({ ...acme, authorize })
  expect(await codeOf(make('1', { author: 'ann' }))).toBe('accepted')
  expect(await codeOf(update('1', { text: 'Mine.' }), 'bob')).toBe('forbidden')
  expect(await codeOf(remove('1'), 'bob')).toBe('forbidden')
  expect(await codeOf(update('1', { text: 'Mine.' }), 'ann')).toBe('accepted')
})

test('a rule sees the earlier transactions of the same request: closed stays closed', async () => {
  const authorize: Authorize = async ({ ops }, _, { read }) => {
    for (const { t, id } of ops) {
      if ((await read(t, id))?.closed) return { message: `${id} is closed.` }
    }
    return undefined
  }
  const { codes, json } = txServiceOf({ authorize })
  const sent = [
    tx('a', [make('1', { n: 0 })]),
    tx('b', [update('1', { closed: true })]),
    tx('c', [update('1', { n: 1 })]),
  ]
  expect(await codes(sent)).toEqual(['accepted', 'accepted', 'forbidden'])
  expect(await codes(sent)).toEqual(['accepted', 'accepted', 'forbidden'])
  expect((await json('bootstrap')).rows[0]?.p).toMatchObject({ n: 0, closed: true })
})

test('a rule reads a record with its fields and its id, as a copy', async () => {
  const seen: unknown[] = []
  const authorize: Authorize = async (_, __, { read }) => {
    const record = await read('Todo', '1')
    seen.push(structuredClone(record))
    const tags: unknown = record?.tags
    if (Array.isArray(tags)) tags.push('changed by the rule')
    return undefined
  }
  const { service, codeOf, json } = txServiceOf({ authorize })
  await service.write([insert('1', { tags: ['a'] })])
  expect(await codeOf(make('2'))).toBe('accepted')
  expect(seen).toEqual([{ id: '1', userId: 'ann', tags: ['a'] }])
  expect((await json('bootstrap')).rows[0]?.p).toEqual({ userId: 'ann', tags: ['a'] })
})

test('a rule that reads an impossible type or id gets undefined, since clients choose what it reads', async () => {
  const seen: unknown[] = []
  const authorize: Authorize = async ({ ops }, _, { read }) => {
    for (const op of ops) if (op.op === 'i') seen.push(await read('Todo', op.p.parent as string))
    return undefined
  }
  const { codes } = txServiceOf({ authorize })
  const parents = [undefined, null, 7, '', '\u0001'.repeat(300)]
  const sent = parents.map((parent, n) => tx(`${n}`, [make(`${n}`, { parent })]))
  expect(new Set(await codes(sent))).toEqual(new Set(['accepted']))
  expect(seen).toEqual(parents.map(() => undefined))
})

test('a rule blocks other writes from its first read on, and not before', async () => {
  const [lookedUp, read] = [new Deferred<void>(), new Deferred<void>()]
  const authorize: Authorize = async (_, __, context) => {
    await lookedUp.promise
    await context.read('Todo', '1')
    await read.promise
    return undefined
  }
  const { service, codeOf } = txServiceOf({ authorize })
  const sent = codeOf(make('1'))
  expect(await service.write([insert('2')])).toEqual({ sid: 1 })
  lookedUp.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  const held = service.write([insert('3')])
  read.resolve()
  expect(await sent).toBe('accepted')
  expect(await held).toEqual({ sid: 3 })
})

test('a rule that does not end is stopped after a second, and the client sends again', async () => {
  const authorize: Authorize = async (_, __, { read }) => {
    await read('Todo', '1')
    return new Promise(() => {})
  }
  const { service, clock, post, lines } = txServiceOf({ authorize })
  const sent = post(JSON.stringify({ txs: [tx('a', [make('1')])] }))
  await new Promise((resolve) => setImmediate(resolve))
  const held = service.write([insert('2')])
  await clock.advance(1_000)
  expect((await sent).status).toBe(503)
  expect(await held).toEqual({ sid: 1 })
  expect(lines.join()).toContain('`authorize` and `prepare` held up other writes for 1000 ms')
})

test('a rule cannot read after its transaction is decided, and changes nothing', async () => {
  const ends: unknown[] = []
  const authorize: Authorize = async (_, __, { read }) => {
    await read('Todo', '1').catch((error: Error) => ends.push(error.message))
    return undefined
  }
  const { codes } = txServiceOf({ authorize })
  const sent = [tx('a', [make('1')])]
  expect([await codes(sent), await codes(sent)]).toEqual([['accepted'], ['accepted']])
  expect(ends).toEqual([
    expect.stringContaining('`read` was called after `authorize` or `prepare` had ended'),
  ])
})

test('a thrown rejection with details that are not JSON decides nothing', async () => {
  const authorize: Authorize = () => {
    throw new WriteRejectedError('forbidden', 'No.', { at: new Date() } as never)
  }
  const { post, lines } = txServiceOf({ authorize })
  expect((await post(JSON.stringify({ txs: [tx('a', [make('1')])] }))).status).toBe(503)
  expect(lines.join()).toContain('details that are JSON')
})

const stamp: Prepare = (op, { before, caller, now }) => {
  if (op.op === 'd') return undefined
  const created = before ? {} : { author: caller.userId, createdAt: now }
  return { ...op, p: { ...op.p, ...created, changedAt: now } }
}

test('`prepare` sets fields, which come back in the frames', async () => {
  const { clock, codes, json } = txServiceOf({ prepare: stamp })
  const now = clock.now()
  await codes([tx('a', [make('1', { author: 'mallory', n: 1 }), update('1', { n: 2 })])])
  await clock.advance(5)
  await codes([tx('b', [update('1', { n: 3 })])])
  const { frames } = await json('delta?since=0')
  expect(frames.map((frame) => [frame.op, frame.op !== 'd' && frame.p])).toEqual([
    ['i', { userId: 'ann', author: 'ann', createdAt: now, changedAt: now, n: 1 }],
    ['u', { n: 2, changedAt: now }],
    ['u', { n: 3, changedAt: now + 5 }],
  ])
})

test('a repeated transaction is not prepared again', async () => {
  let number = 0
  const prepare: Prepare = (op) => {
    number += 1
    return op.op === 'i' ? { ...op, p: { ...op.p, number } } : op
  }
  const { send, json } = txServiceOf({ prepare })
  const sent = [tx('a', [make('1')])]
  expect(await send(sent)).toEqual(await send(sent))
  expect((await json('bootstrap')).rows.map(({ p }) => p.number)).toEqual([1])
})

test('the result of `prepare` is checked for ownership, conditions, models and size', async () => {
  const models = { Todo: z.object({ userId: z.string(), n: z.optional(z.number()) }) }
  const results: { [id: string]: object } = {
    ill: { n: 'not a number' },
    given: { userId: 'bob' },
    long: { text: 'x'.repeat(2_000) },
  }
  const prepare: Prepare = (op) => (op.op === 'd' ? op : { ...op, p: { ...op.p, ...results[op.id] } })
  const { service, codes } = txServiceOf({ prepare, models, maxRecordBytes: 1_000 })
  await service.write([insert('1'), update('1', { n: 1 })])
  const stale = { ...update('1', { n: 2 }), unchangedSince: 1 }
  const sent = [make('ill'), make('given'), make('long'), stale, make('fine')]
  expect(await codes(sent.map((op, n) => tx(`${n}`, [op])))).toEqual([
    'invalid',
    'forbidden',
    'too_large',
    'conflict',
    'accepted',
  ])
})

test('`prepare` may reject, and runs only if `authorize` allows the transaction', async () => {
  const prepared: string[] = []
  const { codes } = txServiceOf({
    authorize: ({ id }) => (id === 'a' ? { message: 'No.' } : undefined),
    prepare: ({ id }) => {
      prepared.push(id)
      throw new WriteRejectedError('invalid', 'Nor this.')
    },
  })
  expect(await codes([tx('a', [make('1')]), tx('b', [make('2')])])).toEqual(['forbidden', 'invalid'])
  expect(prepared).toEqual(['2'])
})

test.each<[string, (op: TxOp) => unknown, string]>([
  ['another kind of op', (op) => ({ ...op, op: 'd' }), '`prepare` must not change `op`'],
  ['another type', (op) => ({ ...op, t: 'Note' }), '`prepare` must not change `t`'],
  ['another id', (op) => ({ ...op, id: '2' }), '`prepare` must not change `id`'],
  [
    'an op without its condition',
    ({ op, t, id }) => ({ op, t, id, p: {} }),
    '`prepare` must not change `put`',
  ],
  ['an op that removes more', (op) => ({ ...op, unset: ['a'] }), '`prepare` must not change `unset`'],
  ['no op', () => 'an op', '`prepare` must return an op, or undefined'],
  ['no fields', (op) => ({ ...op, p: undefined }), '`prepare` returned a value that cannot be stored: p '],
  [
    'fields that are not JSON',
    (op) => ({ ...op, p: { at: Number.NaN } }),
    '`prepare` returned a value that cannot be stored: p.at',
  ],
])('nothing is decided, and the log says why, if `prepare` returns %s', async (_, result, message) => {
  let broken = true
  const prepare: Prepare = (op) => (broken ? (result(op) as TxOp) : op)
  const { post, codes, lines } = txServiceOf({ prepare })
  const sent = [tx('a', [put('1')])]
  expect((await post(JSON.stringify({ txs: sent }))).status).toBe(503)
  expect(lines.join()).toContain(message)
  broken = false
  expect(await codes(sent)).toEqual(['accepted'])
})

test('`prepare` does not see a record of another owner, nor does the caller', async () => {
  const seen: unknown[] = []
  const prepare: Prepare = (op, { before }) => {
    seen.push(before)
    return op
  }
  const { service, send } = txServiceOf({ prepare })
  await service.write([insert('1', { secret: 'of bob' }, 'bob')])
  const ops = [make('1'), put('1'), update('1', {}), remove('1')]
  const answer = await send(ops.map((op, n) => tx(`${n}`, [op])))
  expect(seen).toEqual(ops.map(() => undefined))
  expect(JSON.stringify(answer)).not.toContain('bob')
})

test('`prepare` gets removed records of 64 MiB in one transaction, and the transaction is too large beyond', async () => {
  const { service, codes } = txServiceOf({ prepare: (op) => op })
  const ids = Array.from({ length: 66 }, (_, n) => `${n}`)
  for (const id of ids) await service.write([insert(id, { text: 'x'.repeat(1_048_000) })])
  expect(await codes([tx('a', ids.map(remove))])).toEqual(['too_large'])
  expect(await codes([tx('b', ids.slice(2).map(remove))])).toEqual(['accepted'])
})
