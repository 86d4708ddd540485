import { describe, expect } from 'vitest'
import type { ClientTransaction, Judge } from '../../../src/server/log/log.ts'
import { idAt } from '../../support/ids-at.ts'
import { insert, remove, update } from '../harness.ts'
import { as, asService, framesOf, type LogTest, rowsOf, txOf } from './support.ts'

export function describeTransactions(what: string, logTest: LogTest): void {
  describe(`${what}: transactions`, () => {
    logTest('applies a transaction, and its frames have the id', async (log) => {
      const verdict = await log.transact(txOf('a', [insert('1'), update('1', { n: 1 })]), as('ann'))
      const frames = await framesOf(log)
      expect(verdict).toEqual({ sid: frames.at(-1)?.sid })
      expect(frames).toMatchObject([
        { op: 'i', tx: 'a', at: expect.any(Number) },
        { op: 'u', tx: 'a', p: { n: 1 } },
      ])
      expect((await rowsOf(log))[0]?.p).toEqual({ userId: 'ann', n: 1 })
    })

    logTest('accepts a transaction that changes nothing, at the head', async (log) => {
      const sid = await log.write([insert('1', {}, 'bob')], asService)
      expect(await log.transact(txOf('a', [remove('1'), remove('2')]), as('ann'))).toEqual({ sid })
    })

    logTest(
      'applies a transaction once with the same result, however many copies come at once',
      async (log) => {
        const tx = txOf('a', [insert('1', { n: 1 })])
        const verdicts = await Promise.all(Array.from({ length: 10 }, () => log.transact(tx, as('ann'))))
        verdicts.push(await log.transact(tx, as('ann')))
        const frames = await framesOf(log)
        expect(frames).toHaveLength(1)
        expect(new Set(verdicts.map((verdict) => JSON.stringify(verdict)))).toEqual(
          new Set([JSON.stringify({ sid: frames[0]?.sid })]),
        )
      },
    )

    logTest('returns a rejection again, although the transaction would be accepted now', async (log) => {
      const tx = txOf('a', [update('1', { n: 1 })])
      const verdict = await log.transact(tx, as('ann'))
      expect(verdict).toEqual({ error: { code: 'not_found', message: expect.any(String) } })
      await log.write([insert('1')], asService)
      expect(await log.transact(tx, as('ann'))).toEqual(verdict)
    })

    logTest(
      'returns a rejection again, in whichever order a transaction that requires it comes',
      async (log) => {
        const tx = txOf('a', [update('1', { n: 1 })])
        const verdict = await log.transact(tx, as('ann'))
        const dependent = (id: string) => txOf(id, [insert('2')], { requires: ['a'] })
        for (const pair of [
          [tx, dependent('b')],
          [dependent('c'), tx],
        ]) {
          // The first keeps the pair waiting, so that both are decided together.
          const all = [txOf('first', [remove('3')]), ...pair].map((each) => log.transact(each, as('ann')))
          expect(await Promise.all(all)).toContainEqual(verdict)
        }
      },
    )

    logTest('keeps the details of a rejection', async (log) => {
      const refused = {
        code: 'invalid',
        message: 'No.',
        details: { issues: [{ field: 'n', at: [1, null] }] },
      }
      const tx = txOf('a', [insert('1')], { refused })
      expect(await log.transact(tx, as('ann'))).toEqual({ error: refused })
      expect(await log.transact({ ...tx, refused: undefined }, as('ann'))).toEqual({ error: refused })
      expect(await rowsOf(log)).toEqual([])
    })

    logTest('keeps a verdict when the same transaction is refused later', async (log) => {
      const tx = txOf('a', [insert('1')])
      const verdict = await log.transact(tx, as('ann'))
      const refused = { code: 'forbidden', message: 'No longer.' }
      expect(await log.transact({ ...tx, refused }, as('ann'))).toEqual(verdict)
    })

    logTest('rejects another body with the same id, and says where the first was accepted', async (log) => {
      const verdict = await log.transact(txOf('a', [insert('1')]), as('ann'))
      for (const id of ['2', '3']) {
        const other = await log.transact(txOf('a', [insert(id)]), as('ann'))
        expect(other).toMatchObject({ error: { code: 'id_reused', details: { sid: 1 } } })
      }
      expect(await log.transact(txOf('a', [insert('1')]), as('ann'))).toEqual(verdict)
      expect(await rowsOf(log)).toHaveLength(1)
    })

    logTest('rejects another body with the same id, and says why the first was rejected', async (log) => {
      const refused = { code: 'invalid', message: 'No.', details: { field: 'n' } }
      await log.transact(txOf('a', [insert('1')], { refused }), as('ann'))
      const other = await log.transact(txOf('a', [insert('2')]), as('ann'))
      expect(other).toMatchObject({ error: { code: 'id_reused', details: { error: refused } } })
      expect(await rowsOf(log)).toEqual([])
    })

    logTest(
      'tells another body that is decided together with the first what became of the first',
      async (log) => {
        // The first keeps the others waiting, so that they are decided together.
        const all = [txOf('first', [remove('3')]), txOf('a', [insert('1')]), txOf('a', [insert('2')])]
        const verdicts = await Promise.all(all.map((each) => log.transact(each, as('ann'))))
        expect(verdicts[2]).toMatchObject({ error: { code: 'id_reused', details: verdicts[1] } })
        expect(await rowsOf(log)).toHaveLength(1)
      },
    )

    logTest('separates the ids of callers', async (log) => {
      await log.transact(txOf('a', [insert('1')]), as('ann'))
      const bobs = txOf('a', [insert('2', {}, 'bob')], { caller: 'bob', owner: 'bob' })
      expect(await log.transact(bobs, as('bob'))).toHaveProperty('sid')
      const dependent = txOf('b', [insert('3', {}, 'cid')], { caller: 'cid', owner: 'cid', requires: ['a'] })
      expect(await log.transact(dependent, as('cid'))).toMatchObject({
        error: { code: 'dependency_rejected' },
      })
    })

    logTest('changes and moves records of all owners of the caller, and no others', async (log) => {
      await log.write([insert('1'), insert('2', {}, 'bob'), insert('3', {}, 'cid')], asService)
      const owners = ['ann', 'bob']
      const moved = txOf('a', [update('1', { userId: 'bob' }), update('2', { n: 1 })], { owners })
      expect(await log.transact(moved, as(...owners))).toHaveProperty('sid')
      expect((await rowsOf(log, 'bob')).map(({ id }) => id).sort()).toEqual(['1', '2'])
      const codeOf = async (tx: ClientTransaction) => {
        const verdict = await log.transact(tx, as(...owners))
        return 'error' in verdict ? verdict.error.code : 'accepted'
      }
      expect(await codeOf(txOf('b', [update('3', { n: 1 })], { owners }))).toBe('not_found')
      expect(await codeOf(txOf('c', [update('2', { userId: 'cid' })], { owners }))).toBe('forbidden')
      expect(await codeOf(txOf('d', [insert('4')], { owners: [] }))).toBe('accepted')
    })

    logTest('stores only the verdict of a refused transaction', async (log) => {
      const head = await log.write([insert('1')], asService)
      const verdict = await log.transact(
        txOf('a', [insert('2'), update('1', { n: 1 }), insert('1')]),
        as('ann'),
      )
      expect(verdict).toMatchObject({ error: { code: 'exists' } })
      expect(await log.position()).toMatchObject({ head })
      expect(await framesOf(log, head)).toEqual([])
      expect(await rowsOf(log)).toMatchObject([{ id: '1', p: { userId: 'ann' } }])
    })

    logTest('stores no verdict if something fails, so that the transaction is decided again', async (log) => {
      const tx = txOf('a', [insert('1'), insert('2')])
      let calls = 0
      const breaking: Judge = (...op) => {
        calls += 1
        if (calls === 2) throw new Error('The judge broke.')
        return as('ann')(...op)
      }
      await expect(log.transact(tx, breaking)).rejects.toThrow('The judge broke.')
      expect(await log.position()).toMatchObject({ head: 0 })
      expect(await log.transact(tx, as('ann'))).toHaveProperty('sid')
      expect(await framesOf(log)).toHaveLength(2)
    })

    logTest('accepts a transaction only if all that it requires are accepted', async (log) => {
      await log.transact(txOf('good', [insert('1')]), as('ann'))
      await log.transact(txOf('bad', [insert('1')]), as('ann'))
      const codeOf = async (id: string, requires: readonly string[]) => {
        const verdict = await log.transact(txOf(id, [insert(id)], { requires }), as('ann'))
        return 'error' in verdict ? verdict.error.code : 'accepted'
      }
      expect(await codeOf('a', ['good'])).toBe('accepted')
      expect(await codeOf('b', ['good', 'bad'])).toBe('dependency_rejected')
      expect(await codeOf('c', ['b'])).toBe('dependency_rejected')
      expect(await codeOf('d', ['unheard of'])).toBe('dependency_rejected')
      expect(await codeOf('e', ['e'])).toBe('dependency_rejected')
      expect((await rowsOf(log)).map(({ id }) => id).sort()).toEqual(['1', 'a'])
    })

    logTest('decides a transaction of any age if verdicts stay', async (log) => {
      expect(await log.transact(txOf(idAt(1), [insert('1')]), as('ann'))).toHaveProperty('sid')
    })

    logTest('keeps its verdicts when it is trimmed', async (log) => {
      const [good, bad] = [txOf('a', [insert('1')]), txOf('b', [insert('1')])]
      const verdicts = [await log.transact(good, as('ann')), await log.transact(bad, as('ann'))]
      await log.write([insert('2')], asService)
      await log.trim((await log.position()).head)
      expect([await log.transact(good, as('ann')), await log.transact(bad, as('ann'))]).toEqual(verdicts)
      const dependent = txOf('c', [insert('3')], { requires: ['a'] })
      expect(await log.transact(dependent, as('ann'))).toHaveProperty('sid')
    })
  })
}
