import { describe, expect } from 'vitest'
import type { TxOp } from '../../../src/protocol/tx.ts'
import type { Log, Rules } from '../../../src/server/log/log.ts'
import { insert, remove, update } from '../harness.ts'
import { as, asService, framesOf, type LogTest, rowsOf, txOf } from './support.ts'

function was<Op extends TxOp>(op: Op, value: Op['was']): Op {
  return { ...op, was: value }
}

/** A record that somebody else has changed meanwhile, and an op that takes back two fields of it. */
export async function takesBackItsOwn(log: Log): Promise<void> {
  await log.write([insert('1', { title: 'mine', open: false })], asService)
  await log.write([update('1', { title: 'theirs' })], asService)
  const op = was(update('1', { title: 'old', open: true }), { title: 'mine', open: false })
  await log.transact(txOf('a', [op]), as('ann'))
  expect((await rowsOf(log))[0]?.p).toEqual({ userId: 'ann', title: 'theirs', open: true })
}

/** An insert that is taken back, and somebody else’s change of the record. */
export async function keepsWhatOthersChanged(log: Log): Promise<void> {
  const ids = ['1', '2', '3', '4']
  await log.write(
    ids.map((id) => insert(id, { n: 1 })),
    asService,
  )
  await log.write([update('2', { n: 2 }), update('3', { m: 1 }), update('4', { m: 1 })], asService)
  for (const id of ids) {
    const op = was({ ...remove(id), op: 'd', whole: id !== '4' }, { userId: 'ann', n: 1 })
    await log.transact(txOf(id, [op]), as('ann'))
  }
  expect((await rowsOf(log)).map(({ id }) => id)).toEqual(['2', '3'])
}

export function describeWas(what: string, logTest: LogTest): void {
  describe(`${what}: \`was\``, () => {
    const send = (log: Log, id: string, ops: readonly TxOp[], more: Parameters<typeof txOf>[2] = {}) =>
      log.transact(txOf(id, ops, more), as(...(more.owners ?? ['ann'])))

    logTest('replaces only fields that still have their old value, and sends only these', async (log) => {
      await takesBackItsOwn(log)
      expect((await framesOf(log)).at(-1)).toMatchObject({ op: 'u', p: { open: true }, tx: 'a' })
    })

    logTest('removes only records that still have their old values', keepsWhatOthersChanged)

    logTest('removes fields that still have their old value, and sends the whole record', async (log) => {
      await log.write([insert('1', { a: 1, b: 1, c: 1 })], asService)
      await send(log, 'a', [{ ...update('1', { d: 1 }), unset: ['a', 'b', 'c', 'x'], was: { a: 1, b: 2 } }])
      const p = { userId: 'ann', b: 1, d: 1 }
      expect((await rowsOf(log))[0]?.p).toEqual(p)
      expect((await framesOf(log)).at(-1)).toMatchObject({ op: 'i', p, tx: 'a' })
    })

    logTest('removes fields also without `was`', async (log) => {
      await log.write([insert('1', { a: 1, b: 1 })], asService)
      const op = { ...update('1', { b: 2 }), unset: ['a', 'b', 'x'] }
      await send(log, 'a', [op])
      expect((await rowsOf(log))[0]?.p).toEqual({ userId: 'ann', b: 2 })
      expect(await send(log, 'b', [{ ...op, id: '9' }])).toMatchObject({ error: { code: 'not_found' } })
    })

    logTest('inserts only if there is no record', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      await send(log, 'a', [was(insert('1', { n: 2 }), null), was(insert('2', { n: 2 }), null)])
      expect((await rowsOf(log)).map(({ p }) => p.n)).toEqual([1, 2])
    })

    logTest(
      'accepts a transaction of which nothing is left, with the head and without a frame',
      async (log) => {
        const head = await log.write([insert('1', { n: 1 }), insert('2', {}, 'bob')], asService)
        const absent = [was(update('9', { n: 1 }), { n: 0 }), was(remove('9'), {})]
        const changed = [was(update('1', { n: 1 }), { n: 0 }), was(remove('1'), { n: 0 })]
        const foreign = [was(update('2', { n: 1 }), {}), was(remove('2'), {}), was(insert('2'), null)]
        expect(await send(log, 'a', absent)).toEqual({ sid: head })
        expect(await send(log, 'b', changed)).toEqual({ sid: head })
        expect(await send(log, 'c', foreign)).toEqual({ sid: head })
        expect(await framesOf(log, head, 'ann', 'bob')).toEqual([])
      },
    )

    logTest('compares each op with the result of the earlier ones', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      const ops = [
        update('1', { n: 2 }),
        was(update('1', { n: 3 }), { n: 1 }),
        was(update('1', { n: 4 }), { n: 2 }),
        was(remove('1'), { n: 4 }),
        was(insert('1', { n: 5 }), null),
        was(insert('1', { n: 6 }), null),
      ]
      expect(await send(log, 'a', ops)).toMatchObject({ sid: expect.any(Number) })
      expect((await rowsOf(log)).map(({ p }) => p.n)).toEqual([5])
    })

    logTest('compares concurrent transactions with the result of the earlier ones', async (log) => {
      await log.write([insert('1', { n: 0 })], asService)
      const steps = Array.from({ length: 20 }, (_, n) =>
        send(log, `${n}`, [was(update('1', { n: n + 1 }), { n })]),
      )
      await Promise.all(steps)
      expect((await rowsOf(log)).map(({ p }) => p.n)).toEqual([20])
    })

    logTest('applies to writes of the service, too', async (log) => {
      const head = await log.write([insert('1', { n: 1 }, 'bob')], asService)
      expect(await log.write([was(remove('1'), { n: 2 })], asService)).toBe(head)
      expect(await log.write([was(remove('1'), { n: 1 })], asService)).toBe(head + 1)
    })

    logTest('refuses remaining ops for the same reasons as any other op', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      const give = was(update('1', { n: 2, userId: 'bob' }), { n: 1 })
      expect(await send(log, 'a', [give])).toMatchObject({ error: { code: 'forbidden' } })
    })

    logTest('leaves a record with its owner, although the op removes the owner', async (log) => {
      await log.write([insert('1', { n: 1 })], asService)
      await send(log, 'a', [{ ...update('1', { n: 2 }), unset: ['userId'], was: { n: 1, userId: 'ann' } }])
      expect((await rowsOf(log))[0]?.p).toEqual({ userId: 'ann', n: 2 })
    })

    logTest('shows rules the remaining ops', async (log) => {
      await log.write([insert('1', { a: 1, b: 1 })], asService)
      const seen: unknown[] = []
      const rules: Rules = async (_, ops) => {
        seen.push(...ops)
        return {
          judge: as('ann'),
          prepare: async (op) => {
            seen.push(op)
            return op
          },
        }
      }
      const ops = [was(update('1', { a: 0, b: 0 }), { a: 1, b: 2 }), was(remove('1'), { a: 1 })]
      await send(log, 'a', ops, { rules })
      expect(seen).toEqual([update('1', { a: 0 }), update('1', { a: 0 })])
    })
  })
}
