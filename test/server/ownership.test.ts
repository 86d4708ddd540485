import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TxOp } from '../../src/protocol/tx.ts'
import { MemoryLog } from '../../src/server/index.ts'
import { NaiveCopy, Oracle } from '../support/oracle.ts'
import { ownersSteps, ownersStory } from '../support/owners-fuzz.ts'
import { type FakeSocket, insert, serviceOf, update } from './harness.ts'

const users = ['ann', 'bob', 'cid'] as const

test('invariant 46: a moved record is removed for its old owner, and sent whole to its new owner', async () => {
  const { service, json, connect } = serviceOf()
  await service.write([insert('1', { title: 'x' })])
  const [old, next] = [await connect('ann'), await connect('bob')]
  await service.write([update('1', { userId: 'bob', n: 1 })])
  const removal = { sid: 2, op: 'd', t: 'Todo', id: '1' }
  const arrival = { sid: 3, op: 'i', p: { userId: 'bob', title: 'x', n: 1 } }
  expect((await json('delta?since=1')).frames).toMatchObject([removal])
  expect((await json('delta?since=1', { user: 'bob' })).frames).toMatchObject([arrival])
  expect((await json('bootstrap')).rows).toEqual([])
  expect(old.pushes).toMatchObject([{ sid: 3, frames: [removal] }])
  expect(next.pushes).toMatchObject([{ sid: 3, frames: [arrival] }])
})

test('invariant 46: in an organization, every member sees its records, and nobody else does', async () => {
  const { service, json } = serviceOf({ ownerField: 'organizationId' })
  const seen = async (user: string) => (await json('bootstrap', { user })).rows.map((row) => row.id)
  await service.write([{ op: 'i', t: 'Todo', id: '1', p: { organizationId: 'acme', userId: 'cid' } }])
  expect([await seen('ann'), await seen('bob'), await seen('cid')]).toEqual([['1'], ['1'], []])
  await service.write([update('1', { organizationId: 'zeta' })])
  expect([await seen('ann'), await seen('bob'), await seen('cid')]).toEqual([[], [], ['1']])
})

/** A value that is found again in whatever text it gets into. */
const mark = fc.integer({ min: 0, max: 1e9 }).map((n) => `mark-${n}-`)
const target = { t: fc.constant('Todo'), id: fc.constantFrom('1', '2', '3', '4') }
const fields = fc.record({ a: mark, b: mark, userId: fc.constantFrom(...users) }, { requiredKeys: [] })

const anyOp: fc.Arbitrary<TxOp> = fc.oneof(
  fc.record({ op: fc.constant('i' as const), ...target, p: fields, put: fc.boolean() }),
  fc.record({ op: fc.constant('u' as const), ...target, p: fields }),
  fc.record({ op: fc.constant('d' as const), ...target }),
)
const step = fc.record({
  ops: fc.array(anyOp, { minLength: 1, maxLength: 4 }),
  reads: fc.subarray([...users]),
})

test('invariant 47: no response or push contains a byte of a record that the caller never owned', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const { service, ask, json, connect } = serviceOf()
      const oracle = new Oracle()
      const copies = new Map(users.map((user) => [user, new NaiveCopy()]))
      const sockets = new Map<string, FakeSocket>()
      const allowed = new Map(users.map((user) => [user, new Set<string>()]))
      for (const user of users) sockets.set(user, await connect(user))

      for (const { ops, reads } of steps) {
        // One at a time, so that what the oracle is told is just what was accepted.
        for (const op of ops) {
          const accepted = await service.write([op]).then(
            () => true,
            () => false,
          )
          if (accepted) oracle.write([op])
          for (const user of users) {
            for (const found of marksIn(JSON.stringify(oracle.visibleTo(user)))) allowed.get(user)?.add(found)
          }
        }
        for (const user of reads) {
          const copy = copies.get(user)
          copy?.delta(await json(`delta?since=${copy.sid}`, { user }))
          expect(copy?.facts).toEqual(oracle.visibleTo(user))
        }
      }

      for (const user of users) {
        const fresh = new NaiveCopy()
        fresh.bootstrap(await json('bootstrap', { user }))
        expect(fresh.facts).toEqual(oracle.visibleTo(user))
        const paths = ['bootstrap', 'delta?since=0', 'delta?since=-1', 'tx', 'elsewhere']
        const texts = await Promise.all(paths.map(async (path) => (await ask(path, { user })).text()))
        for (const found of marksIn([...texts, ...(sockets.get(user)?.texts ?? [])].join())) {
          expect(allowed.get(user)).toContain(found)
        }
      }
    }),
    { numRuns: 30 },
  )
})

test('invariant 75: callers with many owners get the records of these, and no others', async () => {
  const { clock, random } = serviceOf()
  await fc.assert(
    fc.asyncProperty(ownersSteps, async (steps) => {
      const story = ownersStory(new MemoryLog({ clock, random }))
      await story.run(steps)
      await story.close()
    }),
    { numRuns: 15 },
  )
})

function marksIn(text: string): string[] {
  return text.match(/mark-\d+-/g) ?? []
}
