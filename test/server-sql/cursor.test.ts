import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { type Item, SqlCursor } from '../../src/server/log/sql/cursor.ts'
import { openPGlite } from '../../src/server/log/sql/pglite.ts'
import { settle } from '../support/virtual.ts'

test('a batch that fails ahead of time is reported to its reader, and to nobody else', async () => {
  const database = await openPGlite(undefined, { clock: resolveEnvironment().clock, logger: silentLogger })
  const trx = await database.readers.startTransaction().execute()
  const items = sql<Item>`
    select sid, case when sid > 110 then (1 / (sid - sid))::text else repeat('x', 1000) end as item
    from generate_series(1, 1000) as sid`
  const cursor = await SqlCursor.open(trx, items)
  expect(await cursor.next()).toMatch(/^x+\n,x/)
  // It is behind the batch, which the database works on by itself.
  await expect(sql`select 1`.execute(trx)).rejects.toThrow('aborted')
  await settle()
  await expect(cursor.next()).rejects.toThrow('division by zero')
  await cursor.close()
  await database.close()
})
