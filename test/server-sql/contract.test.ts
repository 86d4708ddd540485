import { afterAll, beforeAll, expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import type { Rules } from '../../src/server/log/log.ts'
import { MemoryLog } from '../../src/server/log/memory-log.ts'
import { insert, update } from '../server/harness.ts'
import { seesEarlierTransactions } from '../server/log-contract/rules.ts'
import { as, asService, rowsOf, txOf } from '../server/log-contract/support.ts'
import { keepsWhatOthersChanged, takesBackItsOwn } from '../server/log-contract/was.ts'
import { describeLog, type MakeLog } from '../server/log-contract.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { logsIn } from '../support/postgres-log.ts'

const postgres = ownPostgres()
let inPostgres: Awaited<ReturnType<typeof logsIn>>
let inPGlite: Awaited<ReturnType<typeof logsIn>>

beforeAll(async () => {
  inPostgres = await logsIn(await postgres.database('contract'))
  inPGlite = await logsIn('memory:')
})

afterAll(async () => {
  await inPostgres.close()
  await inPGlite.close()
})

const postgresLog: MakeLog = () => inPostgres.make()
const pgliteLog: MakeLog = () => inPGlite.make()

describeLog('the log in PostgreSQL', postgresLog)
describeLog('the log in PGlite', pgliteLog)

test.each([
  ['memory', async () => ({ log: new MemoryLog(resolveEnvironment()) })],
  ['PGlite', pgliteLog],
  ['PostgreSQL', postgresLog],
] as const)(
  'invariant 82: a rule sees the record in the transaction of the write, in %s',
  async (_, make) => {
    const { log } = await make()
    try {
      await seesEarlierTransactions(log)
    } finally {
      await log.close()
    }
  },
)

test.each([
  ['memory', async () => ({ log: new MemoryLog(resolveEnvironment()) })],
  ['PGlite', pgliteLog],
  ['PostgreSQL', postgresLog],
] as const)(
  'invariant 74: an op with `was` changes no field and removes no record that somebody else changed, in %s',
  async (_, make) => {
    for (const check of [takesBackItsOwn, keepsWhatOthersChanged]) {
      const { log } = await make()
      try {
        await check(log)
      } finally {
        await log.close()
      }
    }
  },
)

test('the rules of two processes see the writes of both', async () => {
  const logs = [(await inPostgres.make()).log, (await inPostgres.make()).log]
  const increment: Rules = async () => ({
    judge: as('ann'),
    prepare: async (op, before) => ({ ...op, p: { n: Number(before?.p.n) + 1 } }) as TxOp,
  })
  await logs[0]?.write([insert('1', { n: 0 })], asService)
  const increments = logs.flatMap((log, l) =>
    Array.from({ length: 10 }, (_, n) =>
      log.transact({ ...txOf(`${l} ${n}`, [update('1', {})]), rules: increment }, as('ann')),
    ),
  )
  await Promise.all(increments)
  for (const log of logs) expect((await rowsOf(log))[0]?.p.n).toBe(20)
  for (const log of logs) await log.close()
})

test.each([
  ['PGlite', () => inPGlite],
  ['PostgreSQL', () => inPostgres],
])('a rule that does not end blocks others for at most half of `maxWaitMs`, in %s', async (_, logsOf) => {
  const { log } = await logsOf().make({ maxWaitMs: 400 })
  const rules: Rules = () => new Promise(() => {})
  const [endless, other] = await Promise.allSettled([
    log.transact({ ...txOf('a', [insert('1')]), rules }, as('ann')),
    log.write([insert('2')], asService),
  ])
  expect(endless).toMatchObject({
    reason: { message: expect.stringContaining('held up other writes for 200 ms') },
  })
  expect(other).toMatchObject({ status: 'fulfilled' })
  expect(await rowsOf(log)).toMatchObject([{ id: '2' }])
  await log.close()
})
