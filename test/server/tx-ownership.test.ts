import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Payload } from '../../src/protocol/json.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { NaiveCopy } from '../support/oracle.ts'
import { tx, txServiceOf } from './tx-support.ts'

const users = ['ann', 'bob', 'cid'] as const
type User = (typeof users)[number]

type Records = ReadonlyMap<string, Payload>

/** The table of verdicts, once more and naively: what `ops` make of `records`, or why they make nothing. */
function judged(records: Records, user: User, ops: readonly TxOp[]): Records | string {
  const next = new Map(records)
  for (const op of ops) {
    const stored = next.get(op.id)
    const own = stored?.userId === user ? stored : undefined
    if (op.op === 'd') {
      if (own) next.delete(op.id)
      continue
    }
    if ('userId' in op.p && op.p.userId !== user) return 'forbidden'
    if (op.op === 'u') {
      if (!own) return 'not_found'
      next.set(op.id, { ...own, ...op.p })
    } else {
      if (stored && !(own && op.put)) return 'exists'
      next.set(op.id, { ...op.p, userId: user })
    }
  }
  return next
}

/** A value that is found again in whatever text it gets into. */
const mark = fc.integer({ min: 0, max: 1e9 }).map((n) => `mark-${n}-`)
const target = { t: fc.constant('Todo'), id: fc.constantFrom('1', '2', '3') }
const fields = fc.record(
  {
    a: mark,
    b: mark,
    userId: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, fc.constantFrom(...users)),
  },
  { requiredKeys: [] },
)
const p = fields.map(({ userId, ...rest }): Payload => (userId ? { ...rest, userId } : rest))
const anyOp: fc.Arbitrary<TxOp> = fc.oneof(
  fc.record({ op: fc.constant('i' as const), ...target, p, put: fc.boolean() }),
  fc.record({ op: fc.constant('u' as const), ...target, p }),
  fc.record({ op: fc.constant('d' as const), ...target }),
)
const anyStep = fc.record({
  user: fc.constantFrom(...users),
  ops: fc.array(anyOp, { minLength: 1, maxLength: 3 }),
  /** Whether it is sent a second time. */
  again: fc.boolean(),
})

test('invariant 47: a result depends only on records of the caller, and contains no others', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 30 }), async (steps) => {
      const { post, connect, json } = txServiceOf()
      const sockets = new Map<User, Awaited<ReturnType<typeof connect>>>()
      const heard = new Map<User, string[]>()
      const allowed = new Map<User, Set<string>>()
      for (const user of users) {
        sockets.set(user, await connect(user))
        heard.set(user, [])
        allowed.set(user, new Set())
      }
      let records: Records = new Map()

      for (const [at, { user, ops, again }] of steps.entries()) {
        const expected = judged(records, user, ops)
        if (typeof expected !== 'string') records = expected
        const body = JSON.stringify({ txs: [tx(`t${at}`, ops)] })
        const texts = [await (await post(body, { user })).text()]
        if (again) texts.push(await (await post(body, { user })).text())
        expect(new Set(texts).size).toBe(1)
        const [result] = JSON.parse(texts[0] ?? '').results
        expect(result.error?.code ?? 'accepted').toBe(typeof expected === 'string' ? expected : 'accepted')
        heard.get(user)?.push(...texts)
        for (const { userId, ...rest } of records.values()) {
          for (const found of marksIn(JSON.stringify(rest))) allowed.get(userId as User)?.add(found)
        }
        if (typeof expected !== 'string')
          for (const found of marksIn(JSON.stringify(ops))) allowed.get(user)?.add(found)
      }

      for (const user of users) {
        const copy = new NaiveCopy()
        copy.bootstrap(await json('bootstrap', { user }))
        const own = [...records].filter(([, { userId }]) => userId === user)
        expect(copy.facts).toEqual(own.map(([id, fields]) => ({ t: 'Todo', id, p: fields })).sort(byId))
        const texts = [...(heard.get(user) ?? []), ...(sockets.get(user)?.texts ?? [])].join()
        for (const found of marksIn(texts)) expect(allowed.get(user)).toContain(found)
      }
    }),
    { numRuns: 100 },
  )
})

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1
}

function marksIn(text: string): string[] {
  return text.match(/mark-\d+-/g) ?? []
}
