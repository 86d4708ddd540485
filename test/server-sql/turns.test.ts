import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { openPGlite } from '../../src/server/log/sql/pglite.ts'
import { settle, VirtualClock } from '../support/virtual.ts'

async function inUse() {
  const clock = new VirtualClock()
  const database = await openPGlite(undefined, { clock, logger: silentLogger, maxWaitMs: 1_000 })
  const ends: string[] = []
  const ask = async (name: 'readers' | 'deltas' | 'writers' | 'followers') => {
    const how = await sql`select 1`.execute(database[name]).then(
      () => 'done',
      ({ name }) => name,
    )
    ends.push(`${name} ${how}`)
  }
  return { clock, database, ends, ask, trx: await database.readers.startTransaction().execute() }
}

test('in a PGlite, a snapshot waits for a write, a delta and a read of the position', async () => {
  const { database, ends, ask, trx } = await inUse()
  const all = [ask('readers'), ask('readers'), ask('deltas'), ask('writers'), ask('followers')]
  await settle()
  expect(ends).toEqual([])
  await trx.rollback().execute()
  await Promise.all(all)
  expect(ends.slice(0, 3).sort()).toEqual(['deltas done', 'followers done', 'writers done'])
  expect(ends.slice(3)).toEqual(['readers done', 'readers done'])
  await database.close()
})

test('a request that waits too long for a PGlite gets a temporary failure, and is dropped', async () => {
  const { clock, database, ends, ask, trx } = await inUse()
  const all = [ask('readers'), ask('writers')]
  await settle()
  clock.advance(1_000)
  await Promise.all(all)
  expect(ends).toEqual(['readers NetworkError', 'writers NetworkError'])
  await trx.rollback().execute()
  await ask('writers')
  expect(ends.at(-1)).toBe('writers done')
  await database.close()
})

test('a request that ran in time in a PGlite does not shorten the wait of others', async () => {
  const { clock, database, ends, ask, trx } = await inUse()
  const first = ask('writers')
  await clock.advance(500)
  await trx.rollback().execute()
  await first
  const next = await database.readers.startTransaction().execute()
  const second = ask('writers')
  await settle()
  await clock.advance(500)
  await next.rollback().execute()
  await settle()
  expect(ends).toEqual(['writers done', 'writers done'])
  await second
  await database.close()
})

test('closing a PGlite lets the running request end, and no other begin, however often it is closed', async () => {
  const { database, ends, ask, trx } = await inUse()
  const waiting = ask('writers')
  const closed = Promise.all([database.close(), database.close()])
  await waiting
  await ask('followers')
  expect(ends).toEqual(['writers NetworkError', 'followers NetworkError'])
  await trx.rollback().execute()
  await closed
  await database.close()
})
