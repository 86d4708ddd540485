import { expect, test } from 'vitest'
import type { Before } from '../../src/server/log/draft.ts'
import { Group } from '../../src/server/log/sql/group.ts'
import { as, txOf } from '../server/log-contract/support.ts'

/** The verdicts on two updates of one record, the second of which asks whether it has changed since `unchangedSince`. */
function second(before: Before, unchangedSince: number) {
  const op = { op: 'u', t: 'Todo', id: '1', p: { n: 1 } } as const
  const transactions = [txOf('a', [op]), txOf('b', [{ ...op, unchangedSince }], { bases: ['a'] })]
  const group = new Group(
    { head: 20, horizon: 10, befores: [[before], [before]], verdictOn: () => undefined },
    0,
  )
  const writes = transactions.map((transaction) => ({ ops: transaction.ops, judge: as('ann'), transaction }))
  return group.decide(writes)[1]?.verdict
}

const record = { owner: 'ann', sid: 4, p: { userId: 'ann' } }

test('a base in the same group is no conflict', () => {
  expect(second({ record, changed: false }, 12)).toEqual({ sid: 22 })
})

test('a stranger’s change that was stored before is a conflict, whatever a base in the group has done since', () => {
  expect(second({ record, changed: true }, 12)).toMatchObject({ error: { code: 'conflict' } })
})

test('a record that the group has changed is not known to be as it was at a forgotten position', () => {
  expect(second({ record, changed: false }, 8)).toMatchObject({ error: { code: 'conflict' } })
})

test('a thousand ops on what a thousand bases may have changed are soon decided', () => {
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
  const decided = group.decide(
    transactions.map((transaction) => ({ ops: transaction.ops, judge: as('ann'), transaction })),
  )
  expect(decided[1]?.verdict).toEqual({ sid: 2_020 })
  expect(performance.now() - began).toBeLessThan(5_000)
})
