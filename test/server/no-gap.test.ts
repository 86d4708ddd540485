import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSyncService, MemoryLog } from '../../src/server/index.ts'
import { NaiveCopy, Oracle } from '../support/oracle.ts'
import { mulberry32, seededRandom, VirtualClock } from '../support/virtual.ts'
import { type Answer, authenticate, FakeSocket, insert, requestTo } from './harness.ts'

/** A log whose every answer takes its time, before it reads and after. */
class SlowLog extends MemoryLog {
  readonly #slow: <T>(read: () => Promise<T>) => Promise<T>

  constructor(clock: VirtualClock, seed: number) {
    super({ clock, random: seededRandom(seed) })
    const random = mulberry32(seed)
    const wait = () => new Promise<void>((resolve) => clock.after(Math.floor(random() * 15), resolve))
    this.#slow = async (read) => {
      await wait()
      const result = await read()
      await wait()
      return result
    }
  }

  override position() {
    return this.#slow(() => super.position())
  }

  override changes(after: number, limit: number) {
    return this.#slow(() => super.changes(after, limit))
  }

  override snapshot(owners: readonly string[]) {
    return this.#slow(() => super.snapshot(owners))
  }

  override delta(owners: readonly string[], since: number) {
    return this.#slow(() => super.delta(owners, since))
  }
}

test('invariant 15: a write between a bootstrap and the subscription of the socket is delivered', async () => {
  const times = fc.array(fc.nat(150), { minLength: 10, maxLength: 50 })
  await fc.assert(
    fc.asyncProperty(fc.integer(), times, fc.nat(80), async (seed, writes, opensAt) => {
      const clock = new VirtualClock()
      const log = new SlowLog(clock, seed)
      const service = createSyncService({
        database: log,
        authenticate,
        ownerField: 'userId',
        clock,
        heartbeatMs: 1_000_000,
      })
      const ready = service.ready()
      await clock.advance(30)
      await ready
      const oracle = new Oracle()
      writes.forEach((at, index) => {
        const op = insert(String(index), {}, index % 3 === 0 ? 'bob' : 'ann')
        oracle.write([op])
        clock.after(at, () => void service.write([op]))
      })

      const copy = new NaiveCopy()
      const ask = async (path: string): Promise<Answer> =>
        (await service.fetch(requestTo(path, 'ann'))).json()
      const socket = new FakeSocket()
      const follow = async () => {
        copy.bootstrap(await ask('bootstrap'))
        await new Promise<void>((resolve) => clock.after(opensAt, resolve))
        await service.connect(socket, requestTo('ws', 'ann'))
        while (socket.texts.length === 0) await new Promise<void>((resolve) => clock.after(1, resolve))
        do copy.delta(await ask(`delta?since=${copy.sid}`))
        while (copy.sid < socket.hello.sid)
      }
      await clock.until(follow())
      await clock.advance(1_000)

      for (const { since, sid, frames } of socket.pushes) {
        // A push that begins above the position would be a gap, and there must be none.
        expect(since).toBeLessThanOrEqual(copy.sid)
        if (sid > copy.sid) copy.delta({ sid, frames: frames.filter((frame) => frame.sid > copy.sid) })
      }
      expect(copy.facts).toEqual(oracle.visibleTo('ann'))
    }),
    { numRuns: 300 },
  )
})
