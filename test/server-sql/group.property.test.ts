import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import type { Log } from '../../src/server/log/log.ts'
import { MemoryLog } from '../../src/server/log/memory-log.ts'
import { as, asService, rowsOf, txOf } from '../server/log-contract/support.ts'
import { logsIn } from '../support/postgres-log.ts'

let logs: Awaited<ReturnType<typeof logsIn>>

beforeAll(async () => {
  logs = await logsIn('memory:')
})

afterAll(() => logs.close())

const owners = ['ann', 'bob']
const owner = fc.constantFrom(...owners)
/** Mostly the same one, so that much is done to each record. */
const mostly = fc.constantFrom('ann', 'ann', 'ann', 'ann', 'bob')
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
/** How many changes before the head `unchangedSince` is to be. */
const ago = fc.option(fc.integer({ min: -1, max: 4 }), { freq: 2, nil: undefined })

const op = fc
  .record({ op: fc.constantFrom('i', 'i', 'u', 'u', 'd'), id: fc.constantFrom('1', '2'), n: fc.nat(9), ago })
  .map(({ op, id, n, ago }) => (head: number): TxOp => {
    const of = { t: 'Todo', id, ...(ago !== undefined && { unchangedSince: head - ago }) }
    if (op === 'd') return { op, ...of }
    return op === 'u' ? { op, ...of, p: { n } } : { op: 'i', ...of, p: {}, put: true }
  })

/** A client's transaction, or a write of the service itself, which has no name. */
const job = fc.record({
  caller: owner,
  owner: mostly,
  id: fc.option(name, { freq: 4, nil: undefined }),
  ops: fc.array(op, { minLength: 1, maxLength: 2 }),
  bases: fc.subarray(['a', 'b', 'c', 'd']),
  requires: fc.oneof(
    { weight: 5, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(name, { maxLength: 1 }) },
  ),
})
type Job = typeof job extends fc.Arbitrary<infer T> ? T : never

function ask(log: Log, { id, ops, ...rest }: Job, head: number): Promise<unknown> {
  const done = ops.map((op) => op(head))
  if (id === undefined) return log.write(done.map(ownedBy(rest.owner)), asService)
  return log.transact(txOf(id, done, rest), as(rest.owner))
}

function ownedBy(userId: string) {
  return (op: TxOp): TxOp => (op.op === 'i' ? { ...op, p: { ...op.p, userId } } : op)
}

/** All that `jobs`, asked at once, come to, and what the log holds then. */
async function after(log: Log, jobs: readonly Job[]) {
  const { head } = await log.position()
  const settled = await Promise.allSettled(jobs.map((each) => ask(log, each, head)))
  const outcomes = settled.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))
  const rows = await Promise.all(owners.map((owner) => rowsOf(log, owner)))
  const sorted = rows.map((own) => own.toSorted((one, other) => Number(one.v) - Number(other.v)))
  return { outcomes, rows: sorted, writes: await writesOf(log) }
}

/** The changes of each write that is not forgotten. */
async function writesOf(log: Log) {
  const writes: unknown[] = []
  let { head, horizon: sid } = await log.position()
  while (sid < head) {
    const read = await log.changes(sid, 1)
    writes.push(read.changes.map(({ owner, frame }) => [owner, { ...JSON.parse(frame), at: 0 }]))
    sid = read.sid
  }
  return writes
}

test('concurrent writes have the same results as one after the other', async () => {
  const rounds = fc.array(fc.record({ jobs: fc.array(job, { maxLength: 8 }), forgets: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
  })
  await fc.assert(
    fc.asyncProperty(rounds, async (all) => {
      const { log } = await logs.make()
      const one = new MemoryLog(resolveEnvironment())
      try {
        for (const { jobs, forgets } of all) {
          expect(await after(log, jobs)).toEqual(await after(one, jobs))
          if (!forgets) continue
          const { head } = await one.position()
          await Promise.all([log.trim(head - 2), one.trim(head - 2)])
        }
      } finally {
        await log.close()
      }
    }),
    { numRuns: 40 },
  )
})
