import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite, type PGliteOptions } from '@electric-sql/pglite'
import { expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { shippedSeed } from '../../src/server/log/sql/seed.ts'
import { unpack } from '../../src/server/log/sql/unpack.ts'

async function contentOf(options: PGliteOptions): Promise<unknown> {
  const pglite = await PGlite.create(options)
  const { rows } = await pglite.query(
    `select (select head from instep_state) as head, (select count(*)::int from instep_record) as records,
      (select json_agg(datname) from pg_database) as databases`,
  )
  await pglite.close()
  return rows
}

/** Another database, and its files, would have to be unpacked at each first start. */
const empty = [{ head: 0, records: 0, databases: ['postgres'] }]

/** The position of the state in PostgreSQL's control file, and the state after a clean shutdown (pg_control.h). */
const stateAt = 16
const shutDown = 1

async function seedOf(): Promise<Buffer> {
  const seed = await shippedSeed()
  if (!seed) throw new Error('There is no seed.')
  return seed
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'instep-'))
  try {
    await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

test('the package brings a database with empty tables, from which PGlite starts in memory and in a folder', async () => {
  const seed = await seedOf()
  expect(await contentOf({ loadDataDir: new Blob([new Uint8Array(seed)]) })).toEqual(empty)
  await inFolder(async (folder) => {
    await unpack(seed, folder)
    expect(await contentOf({ dataDir: folder })).toEqual(empty)
  })
})

test('that database was shut down, so that PostgreSQL need not recover it', async () => {
  const seed = await seedOf()
  const content = seed.indexOf('/global/pg_control\0') + 512
  expect(seed.readInt32LE(content + stateAt)).toBe(shutDown)
})

test('each database that is made from it has a history of its own', async () => {
  await inFolder(async (folder) => {
    const histories = new Set<string>()
    for (const name of ['memory:', 'memory:', join(folder, 'a'), join(folder, 'b'), join(folder, 'a')]) {
      const log = await openSqlLog(name)
      histories.add((await log.position()).history)
      await log.close()
    }
    expect(histories.size).toBe(4)
  })
})
