import * as fc from 'fast-check'
import { expect } from 'vitest'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { TxOp, TxResponse } from '../../src/protocol/tx.ts'
import { bearerToken, WriteRejectedError } from '../../src/server/index.ts'
import type { Log } from '../../src/server/log/log.ts'
import { type Answer, type FakeSocket, serviceOf } from '../server/harness.ts'
import { NaiveCopy } from './oracle.ts'
import { OwnersModel, ownerField } from './owners-model.ts'

const users = ['ann', 'bob', 'cid'] as const
const pool = Array.from({ length: 24 }, (_, n) => (n < 4 ? `user:${n}` : `team:${n}`))

interface Draft {
  readonly op: 'i' | 'u' | 'd' | 'put'
  readonly n: number
  /** Whose it is to be; without it, nothing is said about that. */
  readonly to: string | undefined
}

const draft: fc.Arbitrary<Draft> = fc.record({
  op: fc.constantFrom('i', 'put', 'put', 'u', 'u', 'u', 'd'),
  n: fc.nat(3),
  // Of fewer than there are, so that records often move between two owners of one caller.
  to: fc.option(fc.constantFrom(...pool.slice(0, 10)), { nil: undefined, freq: 2 }),
})
const drafts = fc.array(draft, { minLength: 1, maxLength: 2 })
const user = fc.constantFrom(...users)
const few = fc.shuffledSubarray(pool, { maxLength: 2 })
const many = fc.shuffledSubarray(pool, { maxLength: 20 })

export const ownersSteps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('send' as const), by: user, drafts }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), drafts }) },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constantFrom('sync' as const, 'listen' as const), by: user }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('belong' as const), by: user, to: fc.oneof(few, many) }),
    },
  ),
  { minLength: 10, maxLength: 40 },
)

type Steps = typeof ownersSteps extends fc.Arbitrary<infer Value> ? Value : never

/** An open socket of a user, with the owners and the position that it was opened with. */
interface Listening {
  readonly socket: FakeSocket
  readonly owners: readonly string[]
  readonly copy: NaiveCopy
}

/** Users of 0 to 20 owners, on a service over `log`: nobody gets what is not theirs, and nobody misses what is. */
export function ownersStory(log: Log) {
  const members = new Map<string, readonly string[]>()
  const { service, clock, ask, json, connect } = serviceOf({
    database: log,
    ownerField,
    authenticate: async (request) => {
      const userId = bearerToken(request)?.replace('token-of-', '') ?? ''
      return { userId, owners: members.get(userId) ?? [] }
    },
  })
  const model = new OwnersModel()
  let runs = 0
  let marks = 0

  const opOf = ({ op, n, to }: Draft): TxOp => {
    const [t, id] = ['Todo', `${runs}-${n}`]
    if (op === 'd') return { op, t, id }
    marks += 1
    const p = { [`f${n % 2}`]: `mark-${marks}`, ...(to !== undefined && { [ownerField]: to }) }
    return op === 'u' ? { op, t, id, p } : { op: 'i', t, id, p, put: op === 'put' }
  }

  /** Takes one message: each frame is one that `owners` may get, and what they see all the time is not gone after it. */
  const take = (copy: NaiveCopy, owners: readonly string[], sid: number, frames: readonly SyncFrame[]) => {
    const had = copy.facts.map(({ id }) => id)
    const steady = model.steady(owners, copy.sid, sid).filter((id) => had.includes(id))
    for (const frame of frames) {
      const entry = model.entries[frame.sid - 1]
      expect(owners).toContain(entry?.owner)
      // Of a change that a later one replaces, a delta says only that its transaction is contained.
      const isReplaced = model.entries.some(
        (later) =>
          later.owner === entry?.owner &&
          later.sid > frame.sid &&
          later.sid <= sid &&
          later.frame.id === frame.id &&
          later.frame.op !== 'u',
      )
      const blank = { op: 'd', id: frame.id }
      const sent = isReplaced && frame.tx && frame.op === 'd' ? blank : entry?.frame
      expect(frame).toEqual({
        ...sent,
        sid: entry?.sid,
        t: 'Todo',
        at: frame.at,
        ...(frame.tx && { tx: frame.tx }),
      })
    }
    copy.delta({ sid, frames })
    expect(copy.facts.map(({ id }) => id)).toEqual(expect.arrayContaining(steady))
  }

  const run = async (steps: Steps) => {
    runs += 1
    const copies = new Map(users.map((name) => [name, { copy: new NaiveCopy(), epoch: '' }]))
    const listening: Listening[] = []
    for (const [n, name] of users.entries()) members.set(name, pool.slice(n, 2 + 9 * n))
    const ownersOf = (name: string) => members.get(name) ?? []

    const bootstrap = async (name: string, copy: NaiveCopy): Promise<string> => {
      const answer: Answer = await json('bootstrap', { user: name })
      copy.bootstrap(answer)
      expect(answer.count).toBe(answer.rows.length)
      expect(copy.facts).toEqual(model.visibleTo(ownersOf(name)))
      expect(answer.sid).toBe(model.head)
      return answer.epoch
    }
    /** What a client does: it fetches a snapshot where the epoch is another. */
    const sync = async (name: (typeof users)[number]) => {
      const state = copies.get(name)
      if (!state) return
      const answer: Answer = await json(`delta?since=${state.copy.sid}`, { user: name })
      expect(Object.keys(answer).sort()).toEqual(['caller', 'epoch', 'frames', 'sid'])
      if (answer.epoch === state.epoch) take(state.copy, ownersOf(name), answer.sid, answer.frames)
      else state.epoch = await bootstrap(name, state.copy)
      expect(state.copy.facts).toEqual(model.visibleTo(ownersOf(name)))
    }

    for (const name of users) await sync(name)
    for (const step of steps) {
      if (step.do === 'write') {
        const ops = step.drafts.map(opOf)
        const code = model.write(ops, undefined)
        const rejection = await service.write(ops).then(
          () => undefined,
          (error: unknown) => error,
        )
        expect(rejection instanceof WriteRejectedError ? rejection.reason : rejection).toBe(code)
      } else if (step.do === 'send') {
        const ops = step.drafts.map(opOf)
        const code = model.write(ops, ownersOf(step.by))
        const body = JSON.stringify({ txs: [{ id: crypto.randomUUID(), since: 0, ops }] })
        const response = await ask('tx', { method: 'POST', body, user: step.by })
        const [result]: TxResponse['results'] = (await response.json()).results
        expect(result && 'error' in result ? result.error.code : undefined).toBe(code)
      } else if (step.do === 'belong') {
        const wasSame = ownersOf(step.by).toSorted().join() === step.to.toSorted().join()
        const { epoch } = await json('delta?since=0', { user: step.by })
        members.set(step.by, step.to)
        expect((await json('delta?since=0', { user: step.by })).epoch === epoch).toBe(wasSame)
        service.revoke(({ userId }) => userId === step.by)
        // A revocation also holds for sockets of the same moment.
        await clock.advance(1)
      } else if (step.do === 'listen') {
        const [socket, copy] = [await connect(step.by), new NaiveCopy()]
        await expect.poll(() => socket.texts.length).toBeGreaterThan(0)
        await bootstrap(step.by, copy)
        listening.push({ socket, owners: ownersOf(step.by), copy })
      } else await sync(step.by)
    }
    for (const name of users) await sync(name)
    await service.write([{ op: 'i', t: 'Todo', id: `${runs}-end`, p: { [ownerField]: 'nobody' } }])
    model.write([{ op: 'i', t: 'Todo', id: `${runs}-end`, p: { [ownerField]: 'nobody' } }], undefined)

    for (const { socket, owners, copy } of listening) {
      let read = 0
      const taken = () => {
        for (; read < socket.pushes.length; read += 1) {
          const { since, sid, frames } = socket.pushes[read] ?? { since: 0, sid: 0, frames: [] }
          if (sid <= copy.sid) continue
          expect(since).toBeLessThanOrEqual(copy.sid)
          take(
            copy,
            owners,
            sid,
            frames.filter((frame) => frame.sid > copy.sid),
          )
        }
        return socket.closed ?? copy.facts
      }
      const facts = socket.closed ? expect.anything() : model.visibleTo(owners)
      await expect.poll(taken).toEqual(facts)
      socket.close()
    }
  }
  return { run, close: () => service.close() }
}
