import type { Clock, Lifecycle } from '../base/environment.ts'
import { toStorageError } from '../base/errors.ts'
import type { MigrationPlan } from '../models/migrate.ts'
import { openFreezable } from '../storage/freezable.ts'
import type { Store, StoreConnection } from '../storage/store.ts'
import { checkpoint } from './checkpoint.ts'
import type { Database, DatabaseSize, Restored, RestoreSink, SnapshotWriter } from './database.ts'
import { type Caller, FencedConnection, type NewLife, readCaller } from './fence.ts'
import { sizeOf } from './format.ts'
import { generationsOf } from './generations.ts'
import { journalOf, readPosition, readSince } from './journal.ts'
import { type WasDeleted, whyOtherLife } from './life.ts'
import { type MigratingSink, migratingSink } from './migrate.ts'
import { openOutbox } from './outbox.ts'
import { pagesOf } from './pages.ts'
import { readStored } from './restore.ts'
import { signOut } from './sign-out.ts'
import { beginSnapshot } from './snapshot.ts'

export interface OpenDatabaseOptions {
  /** The promises of the store must settle in bounded time: see `withTimeLimits`. */
  readonly store: Store
  /** The name of the database, made of the server and the identity that owns the data. */
  readonly name: string
  readonly clock: Clock
  /** The version of the application's models and their migrations. @default version 1, without migrations */
  readonly models?: MigrationPlan | undefined
  /** Whether this client is the leader and stores the data. Otherwise, only the outbox is written. @default true */
  readonly leads?: boolean | undefined
  /** Names the life of a new database: see `Database.signOut`. */
  readonly newLife?: NewLife
  /** The life that the database must be in: if it is not, the opening rejects. @default any */
  readonly life?: string | undefined
  /** @default always: the browser evicts nothing of this store */
  readonly wasDeleted?: WasDeleted | undefined
  /** Names the owner of this client's data. @default not known */
  readonly caller?: Caller
  /** The lifecycle of the page. @default the process is never frozen */
  readonly lifecycle?: Lifecycle
}

const nothing: DatabaseSize = { pageUnits: 0, journalUnits: 0 }

/** A delta with more ops than this is written in a later turn, because applying it in memory has taken this turn. */
const turnOps = 1_000

/**
 * Opens the database `name`, and creates it if it does not exist. A leader locks out the previous leader, and drops
 * data of another format. Rejects with a StorageError.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<Database> {
  const { store, name, lifecycle, leads = true, newLife, caller = () => undefined } = options
  const { wasDeleted = async () => true } = options
  let { life } = options
  const check = (opened: StoreConnection, signal?: AbortSignal) =>
    whyOtherLife(opened, life, wasDeleted, signal)
  const connection = await openFreezable({ store, name, lifecycle, check })
  try {
    const fenced = await FencedConnection[leads ? 'lead' : 'follow'](connection, newLife, caller)
    const failure = life !== undefined && life !== fenced.life && (await check(connection))
    if (failure) throw failure
    life = fenced.life
    return databaseIn(connection, fenced, { ...options, caller })
  } catch (error) {
    connection.close()
    throw error
  }
}

function databaseIn(
  connection: StoreConnection,
  database: FencedConnection,
  { store, clock, caller, leads = true, models = { version: 1, migrate: {} } }: OpenDatabaseOptions,
): Database {
  const { version } = models
  const { life } = database
  const generations = generationsOf(database)
  const journal = journalOf(database)
  let size: DatabaseSize = nothing
  let isCheckpointing = false

  const snapshot = async () => {
    await database.ensureRaised()
    // Remove the pages of a process that was killed.
    await generations.sweep()
    return beginSnapshot(database, generations, {
      clock,
      version,
      onCommit: (manifest) => {
        size = { pageUnits: sizeOf(manifest), journalUnits: 0 }
      },
    })
  }

  /**
   * Stores the migrated data, because every later delta is written for the current models. If storing fails, `sink` has
   * received the data all the same, and the result has a `failure`.
   */
  const rewrite = async (migrating: MigratingSink, read: Restored, sink: RestoreSink): Promise<Restored> => {
    const rows = migrating.migrated()
    const { owed, at } = read.repair
    const restored = { ...read, repair: { owed: owed || migrating.owesRepair, at } }
    sink.rows(rows)
    if (!leads) return restored
    let writer: SnapshotWriter | undefined
    try {
      writer = await snapshot()
      for (const page of pagesOf(rows)) await writer.page(page)
      await writer.commit(restored, restored.repair)
      return restored
    } catch (error) {
      await writer?.abort().catch(() => {})
      return { ...restored, failure: toStorageError(error) }
    }
  }

  return {
    kind: store.kind,
    outbox: openOutbox(connection, life, caller),
    life,
    signOut: (options) => signOut(connection, life, options),
    get size() {
      return size
    },
    snapshot,

    async restore(sink) {
      let migrating: MigratingSink | undefined
      const read = await readStored(database, (stored) => {
        if (stored === version) return sink
        // Data of a newer version of the application cannot be read: restore nothing.
        migrating = stored < version ? migratingSink(models, stored) : undefined
        return migrating
      })
      if (!read) return undefined
      const { restored, brokenAt: from } = read
      if (leads && from !== undefined)
        await database.write(['journal'], (tx) => tx.delete('journal', { from }))
      size = read.size
      return migrating ? rewrite(migrating, restored, sink) : restored
    },

    async read(sink) {
      return (await readStored(database, (stored) => (stored === version ? sink : undefined)))?.restored
    },

    position: () => database.read(['journal'], (tx) => readPosition(tx, version)),

    since: (position, copy) => database.read(['journal'], (tx) => readSince(tx, version, position, copy)),

    get refused() {
      return database.refused
    },

    get term() {
      return Math.max(0, database.fence)
    },

    readCaller: () => database.read([], readCaller),

    async storeCaller() {
      if (!database.isCallerStored) await database.write([], () => {})
    },

    async append(entry) {
      if (entry.ops.length > turnOps) await clock.pause()
      const units = await journal.append(entry, clock.now())
      size = { ...size, journalUnits: size.journalUnits + units }
    },

    async checkpoint(signal) {
      if (isCheckpointing) return false
      isCheckpointing = true
      try {
        await database.ensureRaised()
        const done = await checkpoint({ database, generations, clock, signal })
        if (done) {
          const journalUnits = Math.max(0, size.journalUnits - done.journalUnits)
          size = { pageUnits: done.pageUnits, journalUnits }
        }
        return done !== undefined
      } finally {
        isCheckpointing = false
      }
    },

    async drop() {
      generations.forget()
      await database.drop()
      size = nothing
    },

    close: () => connection.close(),
    onLost: (listener) => connection.onLost(listener),
  }
}
