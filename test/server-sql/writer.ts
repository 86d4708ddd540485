import { sql } from 'kysely'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { silentLogger } from '../../src/base/logger.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { ownershipJudge } from '../../src/server/log/ownership.ts'
import { KyselyLog } from '../../src/server/log/sql/kysely-log.ts'
import { openDatabase } from '../../src/server/log/sql/open-database.ts'
import { writeIn } from '../../src/server/log/sql/write.ts'

/*
 * A process that writes: `writer.ts <database> <name> <rows>`. It says each write's ids once that is answered, as
 * `{ids}`, and in the end `{done}`. Every third write has a transaction id long before it has the lock.
 */

const [address = '', name = '', rows = '0'] = process.argv.slice(2)
const { clock, random } = resolveEnvironment()
const options = {
  clock,
  random,
  logger: silentLogger,
  maxReaders: 1,
  maxWaitMs: 10_000,
  maxDeltaReaders: 1,
  readerIdleMs: 1_000,
  spoolAfterMs: 5_000,
  maxReadMs: 60_000,
  retention: undefined,
}
const database = await openDatabase(address, options)
const log = new KyselyLog(database, options)
const judge = ownershipJudge({ ownerField: 'userId', models: undefined })
const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`)

say({ ready: true })
for (let written = 0, turn = 0; written < Number(rows); turn += 1) {
  const size = Math.min(1 + (turn % 19), Number(rows) - written)
  const ids = Array.from({ length: size }, (_, index) => `${name}-${written + index}`)
  const ops = ids.map((id): TxOp => ({ op: 'i', t: 'Todo', id, p: { userId: 'ann' } }))
  if (turn % 3 === 0) {
    await database.writers.transaction().execute(async (db) => {
      await sql`select pg_current_xact_id()`.execute(db)
      await new Promise<void>((resolve) => clock.after(random.number() * 5, resolve))
      await writeIn(db, database, [{ ops, judge }], clock.now())
    })
  } else await log.write(ops, judge)
  written += size
  say({ ids })
}
say({ done: true })
await log.close()
