import { PGlite } from '@electric-sql/pglite'
import { expect, test } from 'vitest'
import { shippedSeed } from '../../src/server/log/sql/seed.ts'

test('the package brings an empty database, from which PGlite starts', async () => {
  const seed = await shippedSeed()
  expect(seed).toBeDefined()
  const pglite = await PGlite.create({ loadDataDir: seed ?? new Blob() })
  const { rows } = await pglite.query(
    "select count(*)::int as tables from pg_tables where schemaname = 'public'",
  )
  await pglite.close()
  expect(rows).toEqual([{ tables: 0 }])
})
