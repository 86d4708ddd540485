import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insert, remove, update } from '../server/harness.ts'
import { NaiveCopy } from '../support/oracle.ts'
import { type Grounds, kinds, openGrounds } from './grounds.ts'
import { serveOn } from './site.ts'

let grounds: Grounds

beforeAll(async () => {
  grounds = await openGrounds()
})

afterAll(() => grounds.close())

// Over real HTTP and real sockets, on whatever the service can stand on. What it answers is in test/server.
describe.each(kinds)('a service on %s', (kind) => {
  test('pushes what a delta would bring, so that the same rules lead to the same copy', async () => {
    const { service, send, listen, json } = await serveOn(await grounds.log(kind))
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

  test('brings whoever follows its deltas all that is true, and nothing else', async () => {
    const { service, json } = await serveOn(await grounds.log(kind))
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

  test.each([
    ['userId', 'one owner a user', 'ann', ['ann'], ['bob', 'cid']],
    ['organizationId', 'one owner an organization', 'acme', ['ann', 'bob'], ['cid']],
  ] as const)(
    '%s makes %s: snapshot, delta and pushes hold that owner’s, and nobody else’s',
    async (...row) => {
      const [ownerField, , owner, insiders, outsiders] = row
      const { service, json, listen } = await serveOn(await grounds.log(kind), { ownerField })
      const sockets = new Map<string, Awaited<ReturnType<typeof listen>>>()
      for (const user of [...insiders, ...outsiders]) sockets.set(user, await listen(user))
      await service.write([{ op: 'i', t: 'Todo', id: '1', p: { [ownerField]: owner } }])
      await service.write([{ op: 'i', t: 'Todo', id: '2', p: { [ownerField]: 'somebody else' } }])
      const pushesTo = (user: string) => sockets.get(user)?.pushes.flatMap(({ frames }) => frames) ?? []
      for (const user of insiders) {
        expect((await json('bootstrap', { user })).rows).toMatchObject([{ id: '1' }])
        expect((await json('delta?since=0', { user })).frames).toMatchObject([{ id: '1' }])
        await expect.poll(() => pushesTo(user)).toMatchObject([{ id: '1' }])
      }
      for (const user of outsiders) {
        expect((await json('bootstrap', { user })).rows).toEqual([])
        expect((await json('delta?since=0', { user })).frames).toEqual([])
        expect(pushesTo(user)).toEqual([])
      }
    },
  )
})
