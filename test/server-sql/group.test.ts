import { expect, test } from 'vitest'
import { Group, type Write } from '../../src/server/log/sql/group.ts'
import { insert } from '../server/harness.ts'
import { as, txOf } from '../server/log-contract/support.ts'
import { idAt } from '../support/ids-at.ts'

async function verdictsOf(group: Group, writes: readonly Write[]) {
  return (await group.decide(writes)).map((outcome) => 'verdict' in outcome && outcome.verdict)
}

const record = { owner: 'ann', sid: 4, p: { userId: 'ann' } }

test('an expired transaction, and one that requires it, are not applied, and only the verdict on the latter is stored', async () => {
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

test('a thousand ops on a record that a thousand bases may have changed are decided quickly', async () => {
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
