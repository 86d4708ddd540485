import { test } from 'vitest'
import type { Log } from '../../src/server/log/log.ts'
import { describeLists } from './log-contract/lists.ts'
import { describeReads } from './log-contract/reads.ts'
import { describeRestores } from './log-contract/restores.ts'
import { describeRules } from './log-contract/rules.ts'
import type { LogTest } from './log-contract/support.ts'
import { describeTransactions } from './log-contract/transactions.ts'
import { describeUnchangedSince } from './log-contract/unchanged-since.ts'
import { describeWas } from './log-contract/was.ts'
import { describeWrites } from './log-contract/writes.ts'

/** Makes a log without content, for one test alone. */
export type MakeLog = () => Promise<{ readonly log: Log; readonly done?: () => Promise<void> }>

/** What a {@link Log} promises, as tests that run on any implementation. */
export function describeLog(what: string, make: MakeLog): void {
  const logTest: LogTest = (name, run) =>
    test(name, async () => {
      const { log, done } = await make()
      try {
        await run(log)
      } finally {
        await log.close()
        await done?.()
      }
    })
  describeWrites(what, logTest)
  describeReads(what, logTest)
  describeTransactions(what, logTest)
  describeUnchangedSince(what, logTest)
  describeWas(what, logTest)
  describeRestores(what, logTest)
  describeRules(what, logTest)
  describeLists(what, logTest)
}
