import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { shown } from '../support/device.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { runPostgres } from '../support/postgres.ts'
import { called, secret, servingHere } from './command-line.ts'

const env = { INSTEP_JWT_SECRET: secret }

const postgres = ownPostgres()
let folder: string
const running: Awaited<ReturnType<typeof servingHere>>[] = []
const clients: SyncClient[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'instep-restore-'))
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  for (const serving of running.splice(0)) await serving.end()
})

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
})

/** A database that nothing serves, and how it is kept and brought back as the documentation says. */
interface Kept {
  readonly database: string
  keep(): unknown
  restore(): Promise<void>
  /** Whether a restore is noticed without `epoch --new`. */
  readonly notices: boolean
}

function inFolder(): Kept {
  const [database, backup] = [join(folder, 'data'), join(folder, 'backup')]
  return {
    database,
    notices: false,
    keep: () => cpSync(database, backup, { recursive: true }),
    async restore() {
      rmSync(database, { recursive: true })
      cpSync(backup, database, { recursive: true })
    },
  }
}

async function inPostgres(): Promise<Kept> {
  const database = await postgres.database('data')
  let dump = ''
  return {
    database,
    notices: true,
    keep: () => {
      dump = runPostgres('pg_dump', ['--dbname', database])
    },
    async restore() {
      await postgres.run('postgres', 'drop database data')
      await postgres.database('data')
      runPostgres('psql', ['--dbname', database, '--quiet', '--no-psqlrc'], dump)
    },
  }
}

async function serveOn(database: string, port = '0') {
  const serving = await servingHere(['--database', database], {}, port)
  running.push(serving)
  return serving
}

test.each<[string, () => Kept | Promise<Kept>]>([
  ['a folder', inFolder],
  ['a PostgreSQL', inPostgres],
])(
  'after a restore, clients show the content of the backup of %s, and later changes',
  async (_, open) => {
    const { database, keep, restore, notices } = await open()
    const token = (await called(['token', '--user', 'ann'], env)).stdout.trim()
    const first = await serveOn(database)
    const clientOn = async (store = memoryStore()) => {
      const options = { baseUrl: first.url, token, identity: 'ann', store, logger: silentLogger }
      const client = new SyncClient(options)
      clients.push(client)
      await client.start()
      await client.ready()
      return client
    }
    const write = (client: SyncClient, id: string) => client.mutate((m) => void m.insert('Issue', { id }))
    const { port } = new URL(first.url)
    const store = memoryStore()
    const before = await clientOn(store)
    await write(before, 'kept').synced
    await before.stop()
    await first.end()
    await keep()
    const second = await serveOn(database, port)
    await before.start()
    await write(before, 'lost').synced
    await before.stop()
    await second.end()
    write(before, 'queued')
    await before.close()

    await restore()
    if (!notices) expect((await called(['epoch', '--new', '--database', database])).code).toBe(0)
    await serveOn(database, port)
    const other = await clientOn()
    // So that the head has passed the position of whoever knows the history that is gone.
    for (const id of ['a', 'b', 'c']) await write(other, id).synced
    const after = await clientOn(store)
    const expected = { kept: {}, a: {}, b: {}, c: {}, queued: {} }
    await expect.poll(() => shown(after)).toEqual(expected)
    await expect.poll(() => shown(other)).toEqual(expected)
  },
  120_000,
)
