import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient, sql } from 'kysely'
import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Clock } from '../../../base/environment.ts'
import { ConfigurationError, isSyncError, NetworkError, toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { loadPeer } from '../../optional-peer.ts'
import { changedNotice, channel } from './channel.ts'
import type { SqlDatabase } from './database.ts'
import { flushEntries, flushTree } from './flush.ts'
import { lockFolder } from './folder-lock.ts'
import { isLeftOpen, markClosed, markOpen } from './left-open.ts'
import { PageReads, prepare } from './page-reads.ts'
import { startFlushed } from './pglite-disk.ts'
import { mappingText } from './position.ts'
import { PriorityLock } from './priority-lock.ts'
import { shippedSeed } from './seed.ts'
import { isFull } from './sql-state.ts'
import { unpack } from './unpack.ts'
import { WalRoom } from './wal-room.ts'

export interface PGliteOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** How long to wait for the only connection, in ms. @default 10_000 */
  readonly maxWaitMs?: number
}

/**
 * Opens a PostgreSQL within this process, in `folder`, or in memory if `folder` is `undefined`. Rejects with a
 * ConfigurationError if another process uses the folder, or if the folder has a database that Instep did not create.
 */
export async function openPGlite(folder: string | undefined, options: PGliteOptions): Promise<SqlDatabase> {
  // First, so that a missing package leaves no files in the folder, and is not reported as a broken seed.
  await load()
  if (folder === undefined) return databaseOf(await create(undefined, options), async () => {}, options)
  const unlock = await lockFolder(folder, options.clock)
  try {
    const wal = new WalRoom(join(folder, 'pgdata', 'pg_wal'))
    const pglite = await openFolder(folder, wal, options)
    const onClosed = async () => {
      await markClosed(folder)
      unlock()
    }
    return await databaseOf(pglite, onClosed, { ...options, wal })
  } catch (error) {
    unlock()
    throw error
  }
}

const lost =
  'The machine stopped while the folder of the database was in use. A new history begins, and every client fetches a snapshot.'

async function openFolder(folder: string, wal: WalRoom, options: PGliteOptions): Promise<PGlite> {
  const leftOpen = existsSync(join(folder, 'complete')) && (await isLeftOpen(folder))
  const pglite = await startIn(folder, wal, options)
  try {
    // So that clients notice if the database has lost data.
    if (leftOpen && (await beginHistory(pglite))) options.logger.warn(lost)
    // Only after the new history is stored. If this process ends before, the next start finds the folder still marked.
    await markOpen(folder)
    return pglite
  } catch (error) {
    await pglite.close()
    throw error
  }
}

/** Starts a new history. Resolves with `false` if the database is empty, so that no client has any data. */
async function beginHistory(pglite: PGlite): Promise<boolean> {
  const { rows } = await pglite.query("select where to_regclass('instep_state') is not null")
  if (rows.length === 0) return false
  await pglite.query('update instep_state set history = gen_random_uuid()')
  return true
}

/**
 * Opens or creates the database in `folder`. The file `begun` exists before the first file of the database. It is
 * renamed to `complete` after the last. With `begun`, no client has data of the database, so it is created again.
 * Without either file, the database belongs to somebody else and is left alone.
 */
async function startIn(folder: string, wal: WalRoom, options: PGliteOptions): Promise<PGlite> {
  const path = join(folder, 'pgdata')
  const [begun, complete] = [join(folder, 'begun'), join(folder, 'complete')]
  if (existsSync(complete)) {
    // A power cut may leave the file empty, and PostgreSQL then refuses to start. The lock of the folder is enough.
    await rm(join(path, 'postmaster.pid'), { force: true })
    return startFlushed((await load()).PGlite, path, wal)
  }
  if (existsSync(begun)) await rm(path, { recursive: true, force: true })
  else if (existsSync(path)) throw unmarked(folder)
  await writeFile(begun, '')
  // Before any file of the database exists: otherwise the next start could take the files for somebody else's.
  await flushEntries(folder)
  const pglite = await create({ path, wal }, options)
  // PostgreSQL flushes only files that it has written itself, not those of the seed.
  await flushTree(path)
  await rename(begun, complete)
  await flushEntries(folder)
  return pglite
}

function unmarked(folder: string): ConfigurationError {
  const advice =
    'use another folder, or put `complete` beside it if the database is intact and was created by Instep'
  return new ConfigurationError(
    'database',
    `The folder ${folder} has a \`pgdata\` without the file \`complete\`, so Instep does not touch it; ${advice}.`,
  )
}

/** The files of a database in a folder. */
interface Files {
  readonly path: string
  readonly wal: WalRoom
}

/** Creates a database, from the seed if the seed fits the version. */
async function create(files: Files | undefined, { logger }: PGliteOptions): Promise<PGlite> {
  const seed = await shippedSeed()
  if (seed) {
    try {
      if (files) await unpack(seed, files.path)
      const pglite = await start(files, new Blob([new Uint8Array(seed)]))
      // Otherwise, every database would have the history of the seed.
      await beginHistory(pglite)
      return pglite
    } catch (error) {
      logger.warn(
        'The prepared files of a new database cannot be used; creating the database without them.',
        {
          reason: toError(error).message,
        },
      )
      if (files) await rm(files.path, { recursive: true, force: true })
    }
  }
  return start(files)
}

const load = () => loadPeer('@electric-sql/pglite', () => import('@electric-sql/pglite'))

/** `seed`: the content of a database in memory. */
async function start(files: Files | undefined, seed?: Blob): Promise<PGlite> {
  const { PGlite } = await load()
  if (files) return startFlushed(PGlite, files.path, files.wal)
  return PGlite.create(seed === undefined ? {} : { loadDataDir: seed })
}

async function databaseOf(
  pglite: PGlite,
  onClosed: () => Promise<void>,
  { clock, wal, maxWaitMs = 10_000 }: PGliteOptions & { readonly wal?: WalRoom },
): Promise<SqlDatabase> {
  const onChanged = new Set<() => void>()
  // Nothing collects statistics in a PGlite. Without them, the planner expects few rows for a page of a read, and sorts
  // all that is left for each page, instead of following the index.
  await pglite.query('set enable_bitmapscan = off')
  // What the application puts into `pg_temp` must not hide a type or a table.
  await pglite.query("select set_config('search_path', current_setting('search_path') || ', pg_temp', false)")
  await pglite.listen(channel, (payload) => {
    if (payload === changedNotice) for (const listener of onChanged) listener()
  })
  const lock = new PriorityLock({ clock, maxWaitMs })
  const session = new Session(pglite)
  const over = (take: () => Promise<Unsubscribe>) =>
    new Kysely<unknown>({ dialect: new PostgresDialect({ pool: poolOf(session, take) }) })
  const takeToWrite = async () => {
    const release = await lock.take('soonDone')
    try {
      await wal?.prepare(() => session.query('checkpoint', []))
      return release
    } catch (error) {
      release()
      throw error
    }
  }
  const [writers, db, readers] = [
    over(takeToWrite),
    over(() => lock.take('soonDone')),
    over(() => lock.take('long')),
  ]
  // Without room on the disk, the first read makes it.
  await prepare(db).catch((error: unknown) => {
    if (!isFull(error)) throw error
  })
  let closed: Promise<void> | undefined
  const close = async () => {
    await lock.close()
    await wal?.close()
    await session.close()
    await onClosed()
  }
  return {
    migrators: writers,
    writers,
    appliers: writers,
    maxAppliers: 1,
    followers: db,
    readers,
    deltas: db,
    pageReads: new PageReads(clock),
    // Every database from the same seed has the same system identifier, so the identifier is useless here.
    history: sql<string>`history || ${mappingText}`,
    notify: sql`1`,
    // No other process can write, but the application can, by the same session.
    listen(listener) {
      const changed = () => listener('changed')
      onChanged.add(changed)
      changed()
      return () => onChanged.delete(changed)
    },
    close: () => (closed ??= close()),
  }
}

/** A pool with the only connection of a PGlite, for the holder of its lock. */
function poolOf(session: Session, take: () => Promise<Unsubscribe>): PostgresPool {
  const query = (text: string, parameters: readonly unknown[]) => session.query(text, parameters)
  return {
    connect: async () => ({ query, release: await take() }) as PostgresPoolClient,
    end: async () => {},
  }
}

/** The only session of a PGlite. It must not be used again after a flush has failed. */
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
      else if (isFull(error)) throw new NetworkError('unreachable', toError(error).message, { cause: error })
      throw error
    }
  }

  async close(): Promise<void> {
    if (!this.#stopped) await this.#pglite.close()
  }
}
