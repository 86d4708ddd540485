import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { creationTimeOf } from '../../src/server/log/creation-time.ts'
import { forgetVerdicts } from '../../src/server/log/sql/retention.ts'
import { as, framesOf, txOf } from '../server/log-contract/support.ts'
import { idAt } from '../support/ids-at.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { logsIn } from '../support/postgres-log.ts'
import { VirtualClock } from '../support/virtual.ts'

const hour = 3_600_000
const day = 24 * hour
/** What each of the processes was told, which may be another thing after each restart. */
const ages = [day, 3 * day, undefined]

let logs: Awaited<ReturnType<typeof logsIn>>

beforeAll(async () => {
  logs = await logsIn('memory:')
})

afterAll(() => logs.close())

const process = fc.integer({ min: 0, max: ages.length - 1 })
const step = fc.oneof(
  // By the clock of a device, which may be wrong.
  fc.record({ does: fc.constant('make' as const), ahead: fc.integer({ min: -30, max: 30 }) }),
  fc.record({
    does: fc.constant('send' as const),
    process,
    which: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ does: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ does: fc.constant('forget' as const), process }),
)

test('no transaction is applied twice, whatever is repeated, and whatever was forgotten', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const clock = new JumpingClock(new VirtualClock())
      const processes = await Promise.all(
        ages.map(async (age) => {
          const retention = { maxVerdictAgeMs: age }
          return { retention, ...(await logs.make({ clock, retention })) }
        }),
      )
      const made: string[] = [idAt(clock.now())]
      const first = new Map<string, { readonly sid: number; readonly at: number }>()
      const answered = async (id: string, { log, retention }: (typeof processes)[number]) => {
        const verdict = await log.transact(txOf(id, [{ op: 'i', t: 'Todo', id, p: {} }]), as('ann'))
        const known = first.get(id)
        if ('sid' in verdict) {
          expect(verdict.sid).toBe(known?.sid ?? verdict.sid)
          if (!known) first.set(id, { sid: verdict.sid, at: clock.now() })
          return
        }
        expect(verdict.error.code).toBe('expired')
        const young = Math.max(known?.at ?? 0, creationTimeOf(id) ?? 0)
        expect(clock.now() - young).toBeGreaterThan(Math.min(day, retention.maxVerdictAgeMs ?? day))
      }
      try {
        for (const one of steps) {
          if (one.does === 'make') made.push(idAt(clock.now() + one.ahead * hour))
          if (one.does === 'wait') clock.jump(one.hours * hour)
          const by = 'process' in one ? processes[one.process] : undefined
          if (!by) continue
          if (one.does === 'forget') await forgetVerdicts(logs.database.writers, by.retention, clock.now())
          if (one.does !== 'send') continue
          const ids = one.which.flatMap((n) => made[n % made.length] ?? [])
          await Promise.all(ids.map((id) => answered(id, by)))
        }
        const { log } = processes[0] ?? expect.fail()
        const happened = (await framesOf(log)).map(({ tx }) => tx)
        expect(happened.toSorted()).toEqual([...first.keys()].toSorted())
      } finally {
        await processes[0]?.log.close()
      }
    }),
    { numRuns: 60 },
  )
}, 120_000)
