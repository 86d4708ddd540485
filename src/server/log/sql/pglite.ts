import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient, sql } from 'kysely'
import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Clock } from '../../../base/environment.ts'
import { ConfigurationError, isSyncError, type NetworkError, toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { peer } from '../../optional-peer.ts'
import type { SqlDatabase } from './database.ts'
import { flushEntries, flushTree } from './flush.ts'
import { lockFolder } from './folder-lock.ts'
import { isLeftOpen, markClosed, markOpen } from './left-open.ts'
import { startFlushed } from './pglite-disk.ts'
import { PriorityLock } from './priority-lock.ts'
import { shippedSeed } from './seed.ts'
import { unpack } from './unpack.ts'

export interface PGliteOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** How long the one connection is waited for, in ms. @default 10_000 */
  readonly maxWaitMs?: number
}

/**
 * A PostgreSQL within this process, in `folder`, or in memory where that is `undefined`. Rejects with a
 * ConfigurationError where another process has the folder, or where it holds a database that is none of Instep's.
 */
export async function openPGlite(folder: string | undefined, options: PGliteOptions): Promise<SqlDatabase> {
  // Where it is missing, nothing is made in the folder, and no seed blamed.
  await load()
  if (folder === undefined) return databaseOf(await create(undefined, options), async () => {}, options)
  const unlock = await lockFolder(folder, options.clock)
  try {
    const pglite = await openFolder(folder, options)
    const onClosed = async () => {
      await markClosed(folder)
      unlock()
    }
    return databaseOf(pglite, onClosed, options)
  } catch (error) {
    unlock()
    throw error
  }
}

async function openFolder(folder: string, options: PGliteOptions): Promise<PGlite> {
  const leftOpen = existsSync(join(folder, 'complete')) && (await isLeftOpen(folder))
  const pglite = await startIn(folder, options)
  try {
    if (leftOpen) await beginHistory(pglite, options.logger)
    // Only after the new history is stored: a start that ends before leaves the folder as it was left.
    await markOpen(folder)
    return pglite
  } catch (error) {
    await pglite.close()
    throw error
  }
}

/** Gives the history another name, so that clients notice what the database has lost, if it has. */
async function beginHistory(pglite: PGlite, logger: Logger): Promise<void> {
  const { rows } = await pglite.query("select where to_regclass('instep_state') is not null")
  // Nobody has been told of anything.
  if (rows.length === 0) return
  await pglite.query('update instep_state set history = gen_random_uuid()')
  logger.warn(
    'The machine stopped while the folder was in use, so a new history begins; every client fetches a snapshot.',
  )
}

/**
 * The mark `begun` is there before the first file of a database and becomes `complete` after the last. While it is there,
 * nobody has been told of anything in the database, so it is made anew. Without a mark it is somebody's, and is left alone.
 */
async function startIn(folder: string, options: PGliteOptions): Promise<PGlite> {
  const path = join(folder, 'pgdata')
  const [begun, complete] = [join(folder, 'begun'), join(folder, 'complete')]
  if (existsSync(complete)) return start(path)
  if (existsSync(begun)) await rm(path, { recursive: true, force: true })
  else if (existsSync(path)) throw unmarked(folder)
  await writeFile(begun, '')
  // Before any file of the database is: a start would take that for somebody's.
  await flushEntries(folder)
  const pglite = await create(path, options)
  // What the database was made from was not written by PostgreSQL, which flushes only what it writes itself.
  await flushTree(path)
  await rename(begun, complete)
  await flushEntries(folder)
  return pglite
}

function unmarked(folder: string): ConfigurationError {
  const advice = 'name another folder, or put `complete` beside it where it is whole and was made by Instep'
  return new ConfigurationError(
    'database',
    `The folder ${folder} holds a \`pgdata\` without the file \`complete\`, which Instep does not touch; ${advice}.`,
  )
}

/** A new database, from the seed if there is one of its version. */
async function create(path: string | undefined, { logger }: PGliteOptions): Promise<PGlite> {
  const seed = await shippedSeed()
  if (seed) {
    try {
      if (path === undefined) return await start(path, new Blob([new Uint8Array(seed)]))
      await unpack(seed, path)
      return await start(path)
    } catch (error) {
      logger.warn('The seed of a database is of no use.', { reason: toError(error).message })
      if (path !== undefined) await rm(path, { recursive: true, force: true })
    }
  }
  return start(path)
}

const load = () => peer('@electric-sql/pglite', () => import('@electric-sql/pglite'))

async function start(path: string | undefined, seed?: Blob): Promise<PGlite> {
  const { PGlite } = await load()
  if (path !== undefined) return startFlushed(PGlite, path)
  return PGlite.create(seed === undefined ? {} : { loadDataDir: seed })
}

function databaseOf(
  pglite: PGlite,
  onClosed: () => Promise<void>,
  { clock, maxWaitMs = 10_000 }: PGliteOptions,
): SqlDatabase {
  const lock = new PriorityLock({ clock, maxWaitMs })
  const session = new Session(pglite)
  const over = (length: 'soonDone' | 'long') =>
    new Kysely<unknown>({ dialect: new PostgresDialect({ pool: poolOf(session, () => lock.take(length)) }) })
  const [db, readers] = [over('soonDone'), over('long')]
  let closed: Promise<void> | undefined
  const close = async () => {
    await lock.close()
    await session.close()
    await onClosed()
  }
  return {
    migrators: db,
    writers: db,
    followers: db,
    readers,
    deltas: db,
    single: true,
    // Every database that comes from one seed has the same system identifier, which says nothing then.
    history: sql<string>`history`,
    notify: sql`1`,
    // There is no other process.
    listen: () => () => {},
    close: () => (closed ??= close()),
  }
}

/** The one connection that a PGlite has, for whoever has its lock. */
function poolOf(session: Session, take: () => Promise<Unsubscribe>): PostgresPool {
  const query = (text: string, parameters: readonly unknown[]) => session.query(text, parameters)
  return {
    connect: async () => ({ query, release: await take() }) as PostgresPoolClient,
    end: async () => {},
  }
}

/** The one session of a PGlite, which may not be asked again once a flush has failed. */
class Session {
  readonly #pglite: PGlite
  #stopped: NetworkError | undefined

  constructor(pglite: PGlite) {
    this.#pglite = pglite
  }

  async query(text: string, parameters: readonly unknown[]) {
    if (this.#stopped) throw this.#stopped
    try {
      const { rows, affectedRows = 0 } = await this.#pglite.query(text, [...parameters])
      return { command: 'SELECT', rowCount: affectedRows, rows }
    } catch (error) {
      if (isSyncError(error, 'NetworkError')) this.#stopped = error
      throw error
    }
  }

  async close(): Promise<void> {
    if (!this.#stopped) await this.#pglite.close()
  }
}
