import * as fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { creationTimeOf } from '../../src/server/log/creation-time.ts'
import type { ClientTransaction, Log } from '../../src/server/log/log.ts'
import { toNumber } from '../../src/server/log/sql/int8.ts'
import { forgettable, forgetVerdicts, verdictTime } from '../../src/server/log/sql/retention.ts'
import { as, framesOf, txOf } from '../server/log-contract/support.ts'
import { idAt } from '../support/ids-at.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { logsIn } from '../support/postgres-log.ts'
import { VirtualClock } from '../support/virtual.ts'
import { eventually } from './judge.ts'

const hour = 3_600_000
const day = 24 * hour
const retention = { maxVerdictAgeMs: 7 * day }
const postgres = ownPostgres()

/** Leaves a frame each time that it happens. */
function putOf(id: string, more: Partial<ClientTransaction> = {}): ClientTransaction {
  return txOf(id, [{ op: 'i', t: 'Todo', id: '1', p: { of: id }, put: true }], more)
}

describe('a log that forgets verdicts', () => {
  let logs: Awaited<ReturnType<typeof logsIn>>

  beforeAll(async () => {
    logs = await logsIn(await postgres.database('verdicts'))
  })

  afterAll(() => logs.close())

  /** A log that was told to forget, and one that was not, as in another process; time passes by jumps alone. */
  const open = async () => {
    const clock = new JumpingClock(new VirtualClock())
    const { log } = await logs.make({ clock, retention })
    const { log: other } = await logs.make({ clock })
    return {
      clock,
      log,
      other,
      send: (tx: ClientTransaction, by: Log = log) => by.transact(tx, as('ann')),
      forget: () => forgetVerdicts(logs.database.writers, retention, clock.now()),
    }
  }
  /** The verdicts that are kept, and before when they may have been forgotten. */
  const kept = async () => {
    const { writers } = logs.database
    const { rows } = await sql<{ id: string }>`select id from instep_verdict order by id`.execute(writers)
    const state = await sql<{ horizon: number }>`select verdict_horizon as horizon from instep_state`.execute(
      writers,
    )
    return { ids: rows.map(({ id }) => id), horizon: toNumber(state.rows[0]?.horizon ?? 0) }
  }
  const give = (verdicts: readonly { readonly id: string; readonly at: number }[]) =>
    sql`
    insert into instep_verdict (caller, id, digest, at, sid)
    select 'ann', id, 'x', at, 1 from json_to_recordset(${JSON.stringify(verdicts)}::json) as v(id text, at bigint)`.execute(
      logs.database.writers,
    )

  test('invariant 19: a transaction that is repeated after its verdict was forgotten is rejected as expired, and applied once', async () => {
    const { clock, log, other, send, forget } = await open()
    const tx = putOf(idAt(clock.now()))
    const first = await send(tx)
    expect(first).toEqual({ sid: 1 })
    clock.jump(7 * day)
    await forget()
    expect(await send(tx)).toEqual(first)
    clock.jump(hour + 1)
    await forget()
    const again = await Promise.all([send(tx), send(putOf(tx.id, { digest: 'y' })), send(tx, other)])
    expect(again).toMatchObject(again.map(() => ({ error: { code: 'expired' } })))
    expect(await framesOf(log)).toHaveLength(1)
    expect((await kept()).ids).toEqual([])
    await log.close()
  })

  test('a transaction that first comes after that age is rejected as expired, and changes nothing', async () => {
    const { clock, log, other, send } = await open()
    const [old, young] = [idAt(clock.now()), idAt(clock.now() + 1)]
    clock.jump(7 * day + 1)
    const [first, second, third] = await Promise.all([
      send(putOf(old)),
      send(putOf(young)),
      send(putOf('a', { requires: [old] })),
    ])
    expect([first, third]).toMatchObject([{ error: { code: 'expired' } }, { error: { code: 'expired' } }])
    expect(second).toEqual({ sid: 1 })
    expect((await kept()).ids).toEqual([young, 'a'].sort())
    // No verdict of that age was ever forgotten, so whoever keeps all can tell that it did not happen.
    expect(await send(putOf(old), other)).toEqual({ sid: 2 })
    await log.close()
  })

  test('a verdict is kept if it or its id is young, or if its id contains no time', async () => {
    const { clock, log, forget } = await open()
    const then = clock.now()
    clock.jump(7 * day + hour + 1)
    const v4 = '00000000-0000-4000-8000-000000000000'
    const staying = [
      { id: idAt(then), at: then + 1 },
      { id: idAt(then + 1), at: then },
      { id: idAt(clock.now() + day), at: then },
      { id: 'a', at: 0 },
      { id: v4, at: 0 },
    ]
    const going = [
      { id: idAt(then), at: then },
      { id: idAt(then).toUpperCase(), at: then - 2 },
      { id: idAt(then - 3), at: 0 },
    ]
    await give([...staying, ...going])
    await forget()
    expect(await kept()).toEqual({ ids: staying.map(({ id }) => id).sort(), horizon: then + 1 })
    await forget()
    expect((await kept()).horizon).toBe(then + 1)
    await log.close()
  })

  test('if only verdicts may be forgotten, changes stay', async () => {
    const { clock, log, send } = await open()
    await send(putOf('a'))
    await log.trim(1)
    expect(await forgettable(logs.database.followers, retention, clock.now())).toBe(0)
    await log.close()
  })

  test('many verdicts are forgotten in parts, and two processes may do so at once', async () => {
    const { clock, log, forget } = await open()
    const then = clock.now()
    await sql`insert into instep_verdict (caller, id, digest, at, sid)
      select n, ${idAt(then)}, 'x', 0, 1 from generate_series(1, 25000) n`.execute(logs.database.writers)
    clock.jump(8 * day)
    await Promise.all([forget(), forget()])
    expect(await kept()).toEqual({ ids: [], horizon: then + 1 })
    await log.close()
  })

  test('the database reads the same time from an id as the service', async () => {
    const id = fc.oneof(
      fc.uuid(),
      fc.uuid({ version: 7 }),
      fc.uuid({ version: 7 }).map((uuid) => uuid.toUpperCase()),
      fc.uuid({ version: 7 }).map((uuid) => `${uuid}\n`),
      fc.uuid({ version: 7 }).map((uuid) => `${uuid.slice(0, 19)}c${uuid.slice(20)}`),
      fc.string({ unit: 'grapheme-ascii', maxLength: 40 }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(id, { maxLength: 50 }), async (ids) => {
        const { rows } = await sql<{ from: number | null }>`
          select ${verdictTime} as from from json_to_recordset(${JSON.stringify(ids.map((id, n) => ({ n, id })))}::json)
            as v(n int, id text), (values (0)) as given(at) order by n`.execute(logs.database.writers)
        const times = rows.map(({ from }) => (from === null ? undefined : toNumber(from)))
        expect(times).toEqual(ids.map(creationTimeOf))
      }),
      { numRuns: 30 },
    )
  })
})

test('verdicts without an end are not searched for those that are forgotten', async () => {
  const { database, close } = await logsIn(await postgres.database('indexed'))
  await postgres.run(
    'indexed',
    `insert into instep_verdict (caller, id, digest, at, sid) select 'ann', n, '', 0, 1 from generate_series(1, 50000) n;
    analyze instep_verdict`,
  )
  await eventually(async () => {
    await forgetVerdicts(database.writers, retention, 1_767_225_600_000)
    const [row] = await postgres.run(
      'indexed',
      `select i.idx_scan > 0 and t.seq_tup_read < 200000 as used from pg_stat_user_indexes i
        join pg_stat_user_tables t using (relid) where indexrelname = 'instep_verdict_age'`,
    )
    return row?.used === true
  })
  await close()
})
