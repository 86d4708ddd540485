import { describe, expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import type { Log, LogRead } from '../../src/server/log/log.ts'
import { MemoryLog } from '../../src/server/log/memory-log.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { asService } from './judge.ts'

const postgres = ownPostgres()

const kinds: readonly (readonly [string, () => Promise<Log>])[] = [
  [
    'PostgreSQL',
    async () => openSqlLog(await postgres.database('long'), { maxDeltaReaders: 1, maxWaitMs: 60_000 }),
  ],
  ['PGlite', () => openSqlLog('memory:')],
  ['memory', async () => new MemoryLog(resolveEnvironment())],
]

const some = (count: number, length: number) => Array.from({ length: count }, () => length)

/** Short ones, long ones, and some of each. */
const lengths = [...some(40, 10), ...some(10, 1_000_000), 10, 20_000, 10, 30_000, 1_000_000, 10]

async function batchesOf({ batches }: LogRead) {
  const lengths: number[] = []
  const ids: string[] = []
  for await (const batch of batches) {
    lengths.push(batch.length)
    for (const { id } of JSON.parse(`[${batch}]`)) ids.push(id)
  }
  return { longest: Math.max(...lengths), ids }
}

describe.each(kinds)('long records in %s', (_, open) => {
  test('are sent in batches of one or few, in order', async () => {
    const log = await open()
    for (const [index, length] of lengths.entries()) {
      await log.write([insert(String(index), { text: 'x'.repeat(length) })], asService)
    }
    const ids = lengths.map((_, index) => String(index))
    for (const read of [await log.snapshot(['ann']), await log.delta(['ann'], 0)]) {
      const taken = await batchesOf(read)
      expect(taken.ids).toEqual(ids)
      expect(taken.longest).toBeLessThan(1_200_000)
    }
    // The connection is free again.
    const { batches } = await log.delta(['ann'], lengths.length - 1)
    expect((await batchesOf({ ...(await log.position()), batches })).ids).toEqual(ids.slice(-1))
    await log.close()
  })

  test('are read a few at a time, and never end within a write', async () => {
    const log = await open()
    const text = 'x'.repeat(400_000)
    const { head } = await log.position()
    for (let n = 0; n < 9; n += 1) {
      await log.write([insert(`${n}a`, { text }), insert(`${n}b`, { text })], asService)
    }
    const lengths: number[] = []
    for (let sid = head; sid < head + 18; ) {
      const { changes, sid: reached } = await log.changes(sid, 500)
      expect(changes.map((change) => change.sid - sid)).toEqual(changes.map((_, index) => index + 1))
      lengths.push(changes.length)
      sid = reached
    }
    if (!(log instanceof MemoryLog)) expect(lengths).toEqual([4, 4, 4, 4, 2])
    await log.close()
  })
})
