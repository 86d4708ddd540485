import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TxOp, TxResponse } from '../../src/protocol/tx.ts'
import { WriteRejectedError } from '../../src/server/index.ts'
import { type Grounds, type Kind, kinds, openGrounds } from '../interface/grounds.ts'
import { type Listening, secret, serveOn, tokenOf } from '../interface/site.ts'
import { NaiveCopy, Oracle } from '../support/oracle.ts'
import { ownersSteps, ownersStory } from '../support/owners-fuzz.ts'

let grounds: Grounds

beforeAll(async () => {
  grounds = await openGrounds()
})

afterAll(() => grounds.close())

const users = ['ann', 'bob', 'cid'] as const
type User = (typeof users)[number]

type OwnerField = 'userId' | 'organizationId'

/** In this setup the user alone owns, in that one the organization does. */
const owners: { readonly [field in OwnerField]: { readonly [user in User]: string } } = {
  userId: { ann: 'ann', bob: 'bob', cid: 'cid' },
  organizationId: { ann: 'acme', bob: 'acme', cid: 'zeta' },
}

const markOf = (owner: string) => `<what ${owner} alone may see>`

interface Draft {
  readonly op: 'i' | 'u' | 'd' | 'put'
  readonly n: number
  /** Whose it is to be; without it, nothing is said about that. */
  readonly to: User | undefined
}

const user = fc.constantFrom(...users)
const draft: fc.Arbitrary<Draft> = fc.record({
  op: fc.constantFrom('i', 'u', 'd', 'put'),
  n: fc.nat(4),
  to: fc.option(user, { nil: undefined, freq: 2 }),
})
const drafts = fc.array(draft, { minLength: 1, maxLength: 3 })

type Step =
  | {
      readonly do: 'send'
      readonly by: User
      readonly drafts: readonly Draft[]
      readonly gives: boolean
      readonly after?: number
    }
  | { readonly do: 'write'; readonly drafts: readonly Draft[] }
  | { readonly do: 'read' | 'restart' | 'listen'; readonly by: User }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record(
      { do: fc.constant('send' as const), by: user, drafts, gives: fc.boolean(), after: fc.nat(3) },
      { requiredKeys: ['do', 'by', 'drafts', 'gives'] },
    ),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('write' as const), drafts }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('read', 'restart', 'listen'), by: user }) },
)

const combinations = kinds.flatMap((kind) =>
  (['userId', 'organizationId'] as const).map((field): [Kind, OwnerField] => [kind, field]),
)

describe.each(combinations)('on %s, owned by %s', (kind, ownerField) => {
  const ownerOf = (name: User) => owners[ownerField][name]

  test('invariant 47: no request returns a byte of another owner’s records, and all own records are returned', async () => {
    const given = 'give-'
    const { service, ask, listen, lines } = await serveOn(await grounds.log(kind), {
      ownerField,
      authorize: ({ id }) => (id.startsWith(given) ? { mayChangeOwner: true } : undefined),
    })
    const oracle = new Oracle(ownerField)
    let runs = 0
    const callers = new Map<string, User>()
    /** No two users are named alike, in whatever answer. */
    const expectCaller = (name: User, { caller }: { readonly caller?: string }) => {
      expect(caller).toMatch(/^[\w-]{43}$/)
      expect(callers.get(String(caller)) ?? name).toBe(name)
      callers.set(String(caller), name)
    }

    const run = async (steps: readonly Step[]) => {
      runs += 1
      const idOf = (n: number) => `${runs}-${n}`
      const copies = new Map(users.map((name) => [name, new NaiveCopy()]))
      const listening: { readonly by: User; readonly on: Listening; readonly copy: NaiveCopy }[] = []
      const sent: string[] = []

      const expectOwn = (name: User, text: string) => {
        const foreign = users.map(ownerOf).filter((owner) => owner !== ownerOf(name))
        expect(foreign.filter((owner) => text.includes(markOf(owner)))).toEqual([])
      }
      const get = async (name: User, path: string) => {
        const response = await ask(path, { user: name })
        const text = await response.text()
        expect(response.status).toBe(200)
        expectOwn(name, text)
        const body = JSON.parse(text)
        expectCaller(name, body)
        return body
      }
      /** An op that says in its fields whose they are. */
      const opOf = ({ op, n, to }: Draft, by: User | undefined): TxOp => {
        const [t, id] = ['Todo', idOf(n)]
        if (op === 'd') return { op, t, id }
        // What nobody is named for may be anybody's: an update of whatever is there, a record without owner.
        const holder = to ?? (op === 'u' ? undefined : by)
        const p = {
          mark: holder ? markOf(ownerOf(holder)) : 'for anybody',
          ...(to && { [ownerField]: ownerOf(to) }),
        }
        return op === 'u' ? { op, t, id, p } : { op: 'i', t, id, p, put: op === 'put' }
      }
      const isOf = (owner: string) => (op: TxOp) => oracle.get(op.t, op.id)?.p[ownerField] === owner
      const stamped = (op: TxOp, owner: string): TxOp =>
        op.op === 'i' ? { ...op, p: { [ownerField]: owner, ...op.p } } : op

      const take: { [name in Step['do']]: (step: Step) => Promise<void> } = {
        async send(one) {
          if (one.do !== 'send') return
          const { by, gives, after } = one
          const id = `${gives ? given : ''}${crypto.randomUUID()}`
          const ops = one.drafts.map((each) => opOf(each, by))
          // Ids of whoever sent them: of another they say nothing.
          const named = after === undefined ? [] : sent.slice(after, after + 1)
          const body = JSON.stringify({
            txs: [{ id, since: 0, ops, requires: named, bases: sent.slice(0, 2) }],
          })
          const response = await ask('tx', { method: 'POST', body, user: by })
          expect(response.status).toBe(200)
          const text = await response.text()
          // What one writes oneself for another comes back in nothing either.
          expectOwn(by, text)
          const answer: TxResponse = JSON.parse(text)
          const { results } = answer
          expectCaller(by, { caller: String(answer.caller) })
          sent.push(id)
          if (!results[0] || 'error' in results[0]) return
          for (const op of ops) {
            if (op.op !== 'd' || isOf(ownerOf(by))(op)) oracle.write([stamped(op, ownerOf(by))])
          }
        },
        async write(one) {
          if (one.do !== 'write') return
          const ops = one.drafts.map((each) => opOf(each, undefined))
          try {
            await service.write(ops)
            oracle.write(ops)
          } catch (error) {
            expect(error).toBeInstanceOf(WriteRejectedError)
          }
        },
        async read(one) {
          if (one.do !== 'read') return
          const copy = copies.get(one.by)
          copy?.delta(await get(one.by, `delta?since=${copy.sid}`))
          expect(copy?.facts).toEqual(oracle.visibleTo(ownerOf(one.by)))
        },
        async restart(one) {
          if (one.do !== 'restart') return
          copies.get(one.by)?.bootstrap(await get(one.by, 'bootstrap'))
        },
        async listen(one) {
          if (one.do !== 'listen') return
          const [on, copy] = [await listen(one.by), new NaiveCopy()]
          copy.bootstrap(await get(one.by, 'bootstrap'))
          expect(copy.sid).toBeGreaterThanOrEqual(on.hello.sid)
          expectCaller(one.by, on.hello)
          listening.push({ by: one.by, on, copy })
        },
      }

      for (const name of users) copies.get(name)?.bootstrap(await get(name, 'bootstrap'))
      for (const one of steps) await take[one.do](one)
      for (const by of users) await take.read({ do: 'read', by })
      for (const { by, on, copy } of listening) {
        const expected = oracle.visibleTo(ownerOf(by))
        let read = 0
        await expect
          .poll(() => {
            for (; read < on.pushes.length; read += 1) {
              const { sid = 0, frames = [] } = on.pushes[read] ?? {}
              if (sid > copy.sid) copy.delta({ sid, frames: frames.filter((frame) => frame.sid > copy.sid) })
            }
            return copy.facts
          })
          .toEqual(expected)
        expectOwn(by, on.texts.join())
        on.socket.terminate()
      }
    }
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), run), {
      numRuns: 6,
      endOnFailure: true,
    })
    expect(callers.size).toBe(users.length)
    const secrets = [secret, ...(await Promise.all(users.map((name) => tokenOf(name))))]
    expect(secrets.filter((text) => lines.join('').includes(text))).toEqual([])
  })
})

test.each(kinds)(
  'invariant 47: on %s, callers with many owners get exactly the records of these, whoever joins and leaves',
  async (kind) => {
    const log = await grounds.log(kind)
    const story = ownersStory(log)
    await fc.assert(fc.asyncProperty(ownersSteps, story.run), { numRuns: 6, endOnFailure: true })
    await story.close()
  },
)
