import { describe, expect } from 'vitest'
import type { TxOp } from '../../../src/protocol/tx.ts'
import type { ClientTransaction, Log } from '../../../src/server/log/log.ts'
import { insert, remove, update } from '../harness.ts'
import { as, asService, type LogTest, txOf } from './support.ts'

function since(op: TxOp, unchangedSince: number): TxOp {
  return { ...op, unchangedSince }
}

export function describeUnchangedSince(what: string, logTest: LogTest): void {
  describe(`${what}: \`unchangedSince\``, () => {
    const verdictOn = async (log: Log, tx: ClientTransaction) => {
      const verdict = await log.transact(tx, as(...tx.owners))
      return 'error' in verdict ? verdict.error.code : 'accepted'
    }

    logTest('finds a change after `unchangedSince`, and none before it', async (log) => {
      const first = await log.write([insert('1'), insert('2')], asService)
      const second = await log.write([update('1', { n: 1 })], asService)
      expect(await verdictOn(log, txOf('a', [since(update('2', { n: 1 }), first)]))).toBe('accepted')
      expect(await verdictOn(log, txOf('b', [since(update('1', { n: 2 }), first)]))).toBe('conflict')
      expect(await verdictOn(log, txOf('c', [since(remove('1'), first)]))).toBe('conflict')
      expect(await verdictOn(log, txOf('d', [since(update('1', { n: 2 }), second)]))).toBe('accepted')
      const { head } = await log.position()
      expect(await verdictOn(log, txOf('e', [since(remove('2'), head)]))).toBe('accepted')
    })

    logTest('does not count changes by the caller’s bases, nor by the same ops', async (log) => {
      const head = await log.write([insert('1')], asService)
      expect(await verdictOn(log, txOf('a', [update('1', { n: 1 })]))).toBe('accepted')
      expect(await verdictOn(log, txOf('b', [since(update('1', { n: 2 }), head)]))).toBe('conflict')
      const twice = [since(update('1', { n: 2 }), head), since(update('1', { n: 3 }), head)]
      expect(await verdictOn(log, txOf('c', twice, { bases: ['a'] }))).toBe('accepted')
      const stale = [since(update('1', { n: 4 }), head)]
      expect(await verdictOn(log, txOf('d', stale, { bases: ['a'] }))).toBe('conflict')
      expect(await verdictOn(log, txOf('e', stale, { bases: ['x', 'c', 'a'] }))).toBe('accepted')
    })

    logTest('counts a record with more than 1 000 changes as changed', async (log) => {
      const head = await log.write([insert('1')], asService)
      const many = Array.from({ length: 1_000 }, (_, n) => update('1', { n }))
      expect(await verdictOn(log, txOf('a', [update('1', { n: -1 })]))).toBe('accepted')
      expect(await verdictOn(log, txOf('b', many))).toBe('accepted')
      const own = { bases: ['a', 'b'] }
      expect(await verdictOn(log, txOf('c', [since(update('1', { n: 1 }), head)], own))).toBe('conflict')
      expect(await verdictOn(log, txOf('d', [since(update('1', { n: 1 }), head + 1)], own))).toBe('accepted')
    })

    logTest('examines fewer changes of each record if a transaction asks about many', async (log) => {
      const head = await log.write([insert('1')], asService)
      const some = Array.from({ length: 11 }, (_, n) => update('1', { n }))
      expect(await verdictOn(log, txOf('a', some))).toBe('accepted')
      const own = { bases: ['a'] }
      const others = Array.from({ length: 999 }, (_, n) => since(insert(`new${n}`), head))
      const change = since(update('1', { m: 1 }), head)
      expect(await verdictOn(log, txOf('b', [change, ...others], own))).toBe('conflict')
      expect(await verdictOn(log, txOf('c', [change], own))).toBe('accepted')
    })

    logTest('finds a change of another caller below one by a base', async (log) => {
      const head = await log.write([insert('1')], asService)
      await log.write([update('1', { n: 1 })], asService)
      expect(await verdictOn(log, txOf('a', [update('1', { m: 1 })]))).toBe('accepted')
      const stale = [since(update('1', { m: 2 }), head)]
      expect(await verdictOn(log, txOf('b', stale, { bases: ['a'] }))).toBe('conflict')
    })

    logTest('does not accept a transaction of another caller as a base', async (log) => {
      const head = await log.write([insert('1', {}, 'acme')], asService)
      const acme = { owner: 'acme' }
      expect(await verdictOn(log, txOf('a', [update('1', { n: 1 })], { ...acme, caller: 'bob' }))).toBe(
        'accepted',
      )
      const stale = [since(update('1', { n: 2 }), head)]
      expect(await verdictOn(log, txOf('b', stale, { ...acme, bases: ['a'] }))).toBe('conflict')
    })

    logTest(
      'takes a position that it has not reached for one of another history, in which all may differ',
      async (log) => {
        const head = await log.write([insert('1')], asService)
        expect(await verdictOn(log, txOf('a', [since(update('1', { n: 1 }), head + 1)]))).toBe('conflict')
        expect(await verdictOn(log, txOf('b', [since(insert('2'), head + 1)]))).toBe('conflict')
        expect(await verdictOn(log, txOf('c', [since(update('1', { n: 1 }), head)]))).toBe('accepted')
      },
    )

    logTest('finds that a record was removed', async (log) => {
      const head = await log.write([insert('1')], asService)
      await log.write([remove('1')], asService)
      expect(await verdictOn(log, txOf('a', [since(insert('1'), head)]))).toBe('conflict')
      expect(await verdictOn(log, txOf('b', [since(insert('2'), head)]))).toBe('accepted')
    })

    logTest('counts changes that were sent to any owner of the caller', async (log) => {
      const head = await log.write([insert('1'), insert('2', {}, 'bob'), insert('3')], asService)
      await log.write([update('2', { n: 1 }), update('3', { userId: 'cid' })], asService)
      const owners = ['ann', 'bob']
      expect(await verdictOn(log, txOf('a', [since(update('2', { n: 2 }), head)], { owners }))).toBe(
        'conflict',
      )
      expect(await verdictOn(log, txOf('b', [since(remove('3'), head)], { owners }))).toBe('accepted')
      expect(await verdictOn(log, txOf('c', [since(update('1', { n: 2 }), head)], { owners }))).toBe(
        'accepted',
      )
    })

    logTest('counts only changes that were sent to the owner', async (log) => {
      const head = await log.write([insert('x')], asService)
      await log.write([insert('1', {}, 'bob'), remove('1')], asService)
      expect(await verdictOn(log, txOf('a', [since(insert('1'), head)]))).toBe('accepted')
    })

    logTest('finds changes after the horizon itself', async (log) => {
      const first = await log.write([insert('1'), insert('2')], asService)
      await log.trim(first)
      await log.transact(txOf('base', [update('1', { n: 1 })]), as('ann'))
      const own = [since(update('1', { n: 2 }), first)]
      expect(await verdictOn(log, txOf('a', own))).toBe('conflict')
      expect(await verdictOn(log, txOf('b', own, { bases: ['base'] }))).toBe('accepted')
      expect(await verdictOn(log, txOf('c', [since(insert('3'), first)]))).toBe('accepted')
    })

    logTest('finds all changes from the start of the history', async (log) => {
      await log.write([insert('1')], asService)
      expect(await verdictOn(log, txOf('a', [since(insert('2'), -1)]))).toBe('accepted')
      expect(await verdictOn(log, txOf('b', [since(update('1', { n: 1 }), -1)]))).toBe('conflict')
    })

    logTest('counts a record as changed if the horizon hides the answer', async (log) => {
      const first = await log.write([insert('2'), insert('0'), insert('1')], asService)
      await log.transact(txOf('base', [update('2', { n: 1 })]), as('ann'))
      await log.trim((await log.position()).head)
      const unchanged = [since(update('0', { n: 2 }), first), since(update('1', { n: 2 }), first)]
      expect(await verdictOn(log, txOf('a', unchanged))).toBe('accepted')
      const stale = [since(update('2', { n: 2 }), first)]
      expect(await verdictOn(log, txOf('b', stale, { bases: ['base'] }))).toBe('conflict')
      expect(await verdictOn(log, txOf('c', [since(insert('3'), first)]))).toBe('conflict')
    })
  })
}
