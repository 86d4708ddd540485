import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Db, SqlDatabase } from '../../src/server/log/sql/database.ts'
import { openSnapshot } from '../../src/server/log/sql/read.ts'
import { insert, update } from '../server/harness.ts'
import { logsIn } from '../support/postgres-log.ts'
import { asService, idsOf } from './judge.ts'

let pglite: Awaited<ReturnType<typeof logsIn>>

beforeAll(async () => {
  pglite = await logsIn('memory:')
})

afterAll(() => pglite.close())

/** Begins a snapshot whose transaction is rolled back at its end. */
async function beginInVain(database: SqlDatabase): Promise<void> {
  const execute = (open: (trx: Db) => Promise<unknown>) =>
    database.readers.transaction().execute(async (trx) => {
      await open(trx)
      throw new Error('The commit failed.')
    })
  const readers = { transaction: () => ({ execute }) } as unknown as Db
  await expect(openSnapshot({ ...database, readers }, ['ann'])).rejects.toThrow('The commit failed.')
}

/** The number of copies that writes have kept for open reads. */
async function copies({ followers }: SqlDatabase): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from instep_kept`.execute(
    followers,
  )
  return rows[0]?.count ?? 0
}

test('after a failed transaction of a read, later writes keep no copies for it', async () => {
  const { database, make } = pglite
  const { log } = await make()
  await log.write([insert('1', { n: 0 })], asService)
  expect(await idsOf(log)).toEqual(['1'])
  await beginInVain(database)
  await log.write([update('1', { n: 1 })], asService)
  expect(await copies(database)).toBe(0)
  await log.close()
})

test('copies that no read needs any more are deleted by the next write', async () => {
  const { database, make } = pglite
  const { log } = await make()
  const texts = Array.from({ length: 2_000 }, (_, n) => insert(`${n}`, { text: 'x'.repeat(500) }))
  await log.write(texts, asService)
  const batches = (await log.snapshot(['ann'])).batches[Symbol.asyncIterator]()
  await log.write([update('1999', { n: 1 })], asService)
  expect(await copies(database)).toBe(1)
  await batches.return?.()
  await beginInVain(database)
  expect(await copies(database)).toBe(1)
  await log.write([update('1999', { n: 2 })], asService)
  expect(await copies(database)).toBe(0)
  await log.close()
})
