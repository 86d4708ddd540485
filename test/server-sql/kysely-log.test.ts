import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import type { SqlDatabase } from '../../src/server/log/sql/database.ts'
import { KyselyLog } from '../../src/server/log/sql/kysely-log.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'

test('all listeners of hints share one subscription, which ends with the log', async () => {
  const listeners = new Set<() => void>()
  const database = {
    listen: (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: async () => {},
  } as unknown as SqlDatabase
  const options = {
    readerIdleMs: 1,
    spoolAfterMs: 1,
    maxReadMs: 1,
    maxWaitMs: 1,
    retention: { maxChanges: 1 },
  }
  const clock = new VirtualClock()
  const log = new KyselyLog(database, { ...options, clock, random: seededRandom(1), logger: silentLogger })
  const heard: string[] = []
  log.onHint(() => heard.push('one'))
  log.onHint(() => heard.push('other'))
  expect(listeners.size).toBe(1)
  for (const listener of listeners) listener()
  expect(heard).toEqual(['one', 'other'])
  await log.close()
  expect([listeners.size, clock.timers]).toEqual([0, 0])
})
