import { expect, test } from 'vitest'
import type { TxOp } from '../../src/protocol/tx.ts'
import type { Before } from '../../src/server/log/draft.ts'
import { Group, type Write } from '../../src/server/log/sql/group.ts'
import { insert, remove } from '../server/harness.ts'
import { as, asService, txOf } from '../server/log-contract/support.ts'
import { idAt } from '../support/ids-at.ts'

/**
 * The verdict on the second of two updates of one record, which asks whether it has changed since `unchangedSince`; the
 * service does `ops` before both.
 */
async function second(before: Before, unchangedSince: number, ops: readonly TxOp[] = []) {
  const op = { op: 'u', t: 'Todo', id: '1', p: { n: 1 } } as const
  const transactions = [txOf('a', [op]), txOf('b', [{ ...op, unchangedSince }], { bases: ['a'] })]
  const group = new Group(
    {
      head: 20,
      horizon: 10,
      befores: [ops.map(() => absent), [before], [before]],
      verdictOn: () => undefined,
    },
    0,
  )
  const writes = transactions.map((transaction) => ({ ops: transaction.ops, judge: as('ann'), transaction }))
  return (await verdictsOf(group, [{ ops, judge: asService }, ...writes]))[2]
}

async function verdictsOf(group: Group, writes: readonly Write[]) {
  return (await group.decide(writes)).map((outcome) => 'verdict' in outcome && outcome.verdict)
}

const absent = { record: undefined, changed: false }
const record = { owner: 'ann', sid: 4, p: { userId: 'ann' } }

test('a base in the same group is no conflict', async () => {
  expect(await second({ record, changed: false }, 12)).toEqual({ sid: 22 })
})

test('a stranger’s change that was stored before is a conflict, whatever a base in the group has done since', async () => {
  expect(await second({ record, changed: true }, 12)).toMatchObject({ error: { code: 'conflict' } })
})

test('a record that the group has changed is not known to be as it was at a forgotten position', async () => {
  expect(await second({ record, changed: false }, 8)).toMatchObject({ error: { code: 'conflict' } })
})

/** The verdict of ann's insertion of the record, if nobody has changed it since, behind a write of the service. */
async function insertedBehind(ops: readonly TxOp[]) {
  const transaction = txOf('a', [{ ...insert('1'), unchangedSince: 20 }])
  const group = new Group(
    { head: 20, horizon: 10, befores: [ops.map(() => absent), [absent]], verdictOn: () => undefined },
    0,
  )
  const writes = [
    { ops, judge: asService },
    { ops: transaction.ops, judge: as('ann'), transaction },
  ]
  return (await verdictsOf(group, writes))[1]
}

test('what the group has changed of a record of the same id and another type is no conflict', async () => {
  expect(await second({ record, changed: false }, 12, [{ ...insert('1'), t: 'Note' }])).toEqual({ sid: 23 })
})

test('what the group has told to another owner alone is no conflict', async () => {
  expect(await insertedBehind([insert('1', {}, 'bob'), remove('1')])).toEqual({ sid: 23 })
  expect(await insertedBehind([insert('1'), remove('1')])).toMatchObject({ error: { code: 'conflict' } })
})

test('one that has expired, and what requires it, happen in no group, and only the latter’s verdict is kept', async () => {
  const [old, young] = [idAt(9), idAt(10)]
  const transactions = [
    txOf(old, [insert('1')]),
    txOf(young, [insert('2')], { requires: [old] }),
    txOf(old, [insert('1')]),
    txOf('a', [insert('3')]),
  ]
  const befores = transactions.map(() => [{ record: undefined, changed: false }])
  const group = new Group(
    { head: 20, horizon: 10, befores, verdictOn: () => undefined, verdictHorizon: 10 },
    0,
  )
  const verdicts = await verdictsOf(
    group,
    transactions.map((transaction) => ({ ops: transaction.ops, judge: as('ann'), transaction })),
  )
  const expired = { error: { code: 'expired' } }
  expect(verdicts).toMatchObject([expired, expired, expired, { sid: 21 }])
  expect(group.verdicts.map(({ id }) => id)).toEqual([young, 'a'])
  expect(group.entries.map(({ id }) => id)).toEqual(['3'])
})

test('a thousand ops on what a thousand bases may have changed are soon decided', async () => {
  const ops = Array.from({ length: 1_000 }, (_, n) => ({ op: 'u', t: 'Todo', id: '1', p: { n } }) as const)
  const bases = [...Array.from({ length: 999 }, (_, n) => `${n}`), 'a']
  const transactions = [
    txOf('a', ops),
    txOf(
      'b',
      ops.map((op) => ({ ...op, unchangedSince: 12 })),
      { bases },
    ),
  ]
  const befores = transactions.map(() => ops.map(() => ({ record, changed: false })))
  const group = new Group({ head: 20, horizon: 10, befores, verdictOn: () => undefined }, 0)
  const began = performance.now()
  const verdicts = await verdictsOf(
    group,
    transactions.map((transaction) => ({ ops: transaction.ops, judge: as('ann'), transaction })),
  )
  expect(verdicts[1]).toEqual({ sid: 2_020 })
  expect(performance.now() - began).toBeLessThan(5_000)
})
