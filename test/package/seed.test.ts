import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite, type PGliteOptions } from '@electric-sql/pglite'
import { expect, test } from 'vitest'
import { shippedSeed } from '../../src/server/log/sql/seed.ts'
import { unpack } from '../../src/server/log/sql/unpack.ts'

async function contentOf(options: PGliteOptions): Promise<unknown> {
  const pglite = await PGlite.create(options)
  const { rows } = await pglite.query(
    `select count(*)::int as tables, (select json_agg(datname) from pg_database) as databases
      from pg_tables where schemaname = 'public'`,
  )
  await pglite.close()
  return rows
}

/** Another database, and its files, would have to be unpacked at each first start. */
const empty = [{ tables: 0, databases: ['postgres'] }]

test('the package brings an empty database, from which PGlite starts in memory and in a folder', async () => {
  const seed = await shippedSeed()
  if (!seed) throw new Error('There is no seed.')
  expect(await contentOf({ loadDataDir: new Blob([new Uint8Array(seed)]) })).toEqual(empty)
  const folder = await mkdtemp(join(tmpdir(), 'instep-'))
  try {
    await unpack(seed, folder)
    expect(await contentOf({ dataDir: folder })).toEqual(empty)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
