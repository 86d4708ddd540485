import { describe, expect, test } from 'vitest'
import { insert, remove, update } from '../../server/harness.ts'
import { NaiveCopy } from '../../support/oracle.ts'
import type { Kind } from '../grounds.ts'
import type { Serve } from '../site.ts'

export function describeRealtime(kind: Kind, serve: Serve): void {
  describe(`Realtime, on ${kind}`, () => {
    test('a client that holds a socket is told of changes as they happen', async () => {
      const { send, listen } = await serve()
      const { pushes } = await listen()
      await send([{ op: 'i', t: 'Todo', id: '1', p: { n: 1 } }])
      await send([update('1', { n: 2 })])
      await send([remove('1')])
      const frames = () => pushes.flatMap((push) => push.frames)
      await expect.poll(frames).toMatchObject([
        { sid: 1, t: 'Todo', id: '1', op: 'i', p: { n: 1 } },
        { sid: 2, t: 'Todo', id: '1', op: 'u', p: { n: 2 } },
        { sid: 3, t: 'Todo', id: '1', op: 'd' },
      ])
    })

    test('what is pushed is what a delta would bring, so that the same rules lead to the same copy', async () => {
      const { service, send, listen, json } = await serve()
      await service.write([insert('0', { n: 0 })])
      const [pushed, asked] = [new NaiveCopy(), new NaiveCopy()]
      for (const copy of [pushed, asked]) copy.bootstrap(await json('bootstrap'))
      const { pushes, hello } = await listen()
      expect(hello.sid).toBe(1)
      await send([{ op: 'i', t: 'Todo', id: '1', p: { a: 1 } }, update('0', { n: 1 })])
      await service.write([insert('other', {}, 'bob'), update('1', { b: [2] })])
      await send([remove('0'), { op: 'i', t: 'Todo', id: '1', p: { c: 3 }, put: true }])
      asked.delta(await json('delta?since=1'))
      await expect.poll(() => pushes.at(-1)?.sid).toBe(asked.sid)
      for (const push of pushes) {
        expect(push.since).toBe(pushed.sid)
        pushed.delta(push)
      }
      expect(pushed.facts).toEqual([{ t: 'Todo', id: '1', p: { userId: 'ann', c: 3 } }])
      expect([pushed.sid, pushed.facts]).toEqual([asked.sid, asked.facts])
    })
  })

  describe(`A position, on ${kind}`, () => {
    test('that follows snapshot and deltas by the rules has all that is true, and nothing else', async () => {
      const { service, json } = await serve()
      const copy = new NaiveCopy()
      await service.write([insert('1', { a: 1, b: 1 }), insert('2'), insert('3', {}, 'bob')])
      copy.bootstrap(await json('bootstrap'))
      expect(copy.sid).toBe(3)
      await service.write([update('1', { b: null }), remove('2'), insert('4')])
      copy.delta(await json(`delta?since=${copy.sid}`))
      expect(copy.sid).toBe(6)
      await service.write([update('3', { userId: 'ann' }), update('4', { userId: 'bob' })])
      copy.delta(await json(`delta?since=${copy.sid}`))
      expect(copy.facts).toEqual([
        { t: 'Todo', id: '1', p: { userId: 'ann', a: 1, b: null } },
        { t: 'Todo', id: '3', p: { userId: 'ann' } },
      ])
      const fresh = new NaiveCopy()
      fresh.bootstrap(await json('bootstrap'))
      expect([fresh.sid, fresh.facts]).toEqual([copy.sid, copy.facts])
    })
  })
}
