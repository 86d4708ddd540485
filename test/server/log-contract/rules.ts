import { describe, expect } from 'vitest'
import { Deferred } from '../../../src/base/deferred.ts'
import type { TxOp } from '../../../src/protocol/tx.ts'
import type { ClientTransaction, Log, ReadRecord, Rules } from '../../../src/server/log/log.ts'
import { WriteRejectedError } from '../../../src/server/log/rejection.ts'
import { RuleFailure } from '../../../src/server/log/rules.ts'
import { insert, remove, update } from '../harness.ts'
import { as, asService, framesOf, type LogTest, rowsOf, txOf } from './support.ts'

const judge = as('ann')

function transact(log: Log, id: string, ops: readonly TxOp[], rules: Rules) {
  const transaction: ClientTransaction = { ...txOf(id, ops), rules }
  return log.transact(transaction, judge)
}

const closedStaysClosed: Rules = async (read) => {
  const record = await read('Todo', '1')
  if (record?.p.closed) throw new WriteRejectedError('forbidden', 'It is closed.')
  return { judge }
}

/** Of two edits and a closing that are asked for at once, the edit after the closing is rejected. */
export async function seesEarlierTransactions(log: Log): Promise<void> {
  await log.write([insert('1', { n: 0 })], asService)
  const verdicts = await Promise.all([
    // The first keeps the others waiting, so that they are decided together.
    log.write([insert('2')], asService),
    transact(log, 'a', [update('1', { n: 1 })], closedStaysClosed),
    transact(log, 'b', [update('1', { closed: true })], closedStaysClosed),
    transact(log, 'c', [update('1', { n: 2 })], closedStaysClosed),
  ])
  expect(verdicts.slice(1)).toEqual([
    { sid: expect.any(Number) },
    { sid: expect.any(Number) },
    { error: { code: 'forbidden', message: 'It is closed.' } },
  ])
  expect((await rowsOf(log)).find(({ id }) => id === '1')?.p).toMatchObject({ n: 1, closed: true })
}

export function describeRules(what: string, logTest: LogTest): void {
  describe(`${what}: rules`, () => {
    logTest('reads records of all owners for rules, with all fields', async (log) => {
      await log.write([insert('1', { n: 1 }), insert('2', { n: 2 }, 'bob')], asService)
      const found: unknown[] = []
      const rules: Rules = async (read) => {
        for (const id of ['1', '2', '3']) found.push((await read('Todo', id))?.p)
        return { judge }
      }
      await transact(log, 'a', [remove('1'), remove('2')], rules)
      expect(found).toEqual([{ userId: 'ann', n: 1 }, { userId: 'bob', n: 2 }, undefined])
      expect(await rowsOf(log, 'bob')).toHaveLength(1)
    })

    logTest('keeps a rejection by a rule, and does not run the rule again', async (log) => {
      let calls = 0
      const rules: Rules = async () => {
        calls += 1
        throw new WriteRejectedError('invalid', 'No.', { field: 'n' })
      }
      const rejected = { error: { code: 'invalid', message: 'No.', details: { field: 'n' } } }
      expect(await transact(log, 'a', [insert('1')], rules)).toEqual(rejected)
      expect(await transact(log, 'a', [insert('1')], rules)).toEqual(rejected)
      expect(calls).toBe(1)
      expect(await rowsOf(log)).toEqual([])
    })

    logTest('prepares an op once, however often its transaction comes', async (log) => {
      let calls = 0
      const rules: Rules = async () => ({
        judge,
        prepare: async (op) => {
          calls += 1
          return { ...op, p: { userId: 'ann', number: calls } } as TxOp
        },
      })
      const verdicts = await Promise.all(
        Array.from({ length: 10 }, () => transact(log, 'a', [insert('1')], rules)),
      )
      verdicts.push(await transact(log, 'a', [insert('1')], rules))
      expect(new Set(verdicts.map((verdict) => JSON.stringify(verdict))).size).toBe(1)
      expect(await framesOf(log)).toMatchObject([{ op: 'i', tx: 'a', p: { userId: 'ann', number: 1 } }])
      expect((await rowsOf(log))[0]?.p).toEqual({ userId: 'ann', number: 1 })
    })

    logTest('shows `prepare` the records after the earlier ops', async (log) => {
      await log.write([insert('1', { n: 1 }), insert('2', { n: 1 })], asService)
      const seen: unknown[] = []
      const rules: Rules = async () => ({
        judge,
        prepare: async (op, before, read) => {
          seen.push([before?.p.n, (await read('Todo', '2'))?.p.n])
          return op
        },
      })
      const ops = [update('1', { n: 2 }), update('2', { n: 2 }), update('1', { n: 3 }), remove('1')]
      await transact(log, 'a', [...ops, insert('1')], rules)
      expect(seen).toEqual([
        [1, 1],
        [1, 1],
        [2, 2],
        [3, 2],
        [undefined, 2],
      ])
    })

    logTest('leaves a transaction undecided if its rule fails, and decides the others', async (log) => {
      const fails: Rules = async () => {
        throw new RuleFailure(new Error('The rule broke.'))
      }
      const passes: Rules = async () => ({ judge })
      const [failed, ...others] = await Promise.allSettled([
        transact(log, 'a', [insert('1')], fails),
        transact(log, 'b', [insert('2')], fails),
        transact(log, 'c', [insert('3')], passes),
        log.write([insert('4')], asService),
      ])
      expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'The rule broke.' } })
      expect(others.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
      expect((await rowsOf(log)).map(({ id }) => id).sort()).toEqual(['3', '4'])
      expect(await transact(log, 'a', [insert('1')], passes)).toHaveProperty('sid')
    })

    logTest('reads nothing for a rule that has ended', async (log) => {
      const kept = new Deferred<ReadRecord>()
      const rules: Rules = async (read) => {
        kept.resolve(read)
        void read('Todo', '1')
        return { judge }
      }
      await transact(log, 'a', [insert('1')], rules)
      const read = await kept.promise
      await expect(read('Todo', '1')).rejects.toThrow(
        '`read` was called after `authorize` or `prepare` had ended',
      )
    })

    logTest('writes nothing while a rule runs', async (log) => {
      await log.write([insert('1', { n: 0 })], asService)
      const increment: Rules = async () => ({
        judge,
        prepare: async (op, before, read) => {
          await read('Todo', 'other')
          return { ...op, p: { n: Number(before?.p.n) + 1 } } as TxOp
        },
      })
      await Promise.all(
        Array.from({ length: 20 }, (_, n) => transact(log, `a${n}`, [update('1', {})], increment)),
      )
      expect((await rowsOf(log))[0]?.p.n).toBe(20)
    })
  })
}
