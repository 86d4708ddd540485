import type { Clock } from '../base/environment.ts'
import { toStorageError } from '../base/errors.ts'
import type { Shape } from '../models/migrate.ts'
import { namesOf } from '../protocol/guards.ts'
import type { Store, StoreConnection } from '../storage/store.ts'
import { checkpoint } from './checkpoint.ts'
import type { Database, DatabaseSize, Restored, RestoreSink, SnapshotWriter } from './database.ts'
import { FencedConnection } from './fence.ts'
import { metaKeys, sizeOf } from './format.ts'
import { generationsOf } from './generations.ts'
import { journalOf } from './journal.ts'
import { type MigratingSink, migratingSink } from './migrate.ts'
import { openOutbox } from './outbox.ts'
import { pagesOf } from './pages.ts'
import { readStored } from './restore.ts'
import { beginSnapshot } from './snapshot.ts'

export interface OpenDatabaseOptions {
  /** Its promises are to settle in bounded time: see `withTimeLimits`. */
  readonly store: Store
  /** Names the server and the identity whose data it is. */
  readonly name: string
  readonly clock: Clock
  /** The shape of the application's types. @default version 1, which nothing leads to */
  readonly models?: Shape | undefined
  /** Another client has the data: only the outbox is written. @default false */
  readonly beside?: boolean | undefined
}

const nothing: DatabaseSize = { pageUnits: 0, journalUnits: 0 }

/** An entry of more ops than these is written in a turn of its own: to apply them has been one already. */
const turnOps = 1_000

/**
 * Opens the database `name`, made where there is none. Whoever has it open is refused from now on, unless this one is
 * opened `beside` it. Data of another format is dropped, and restoring then finds nothing. Rejects with a StorageError.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<Database> {
  const connection = await options.store.open(options.name)
  try {
    const fenced = options.beside
      ? FencedConnection.beside(connection)
      : await FencedConnection.raise(connection)
    return databaseIn(connection, fenced, options)
  } catch (error) {
    connection.close()
    throw error
  }
}

function databaseIn(
  connection: StoreConnection,
  database: FencedConnection,
  { store, clock, models = { version: 1, migrate: {} } }: OpenDatabaseOptions,
): Database {
  const { version } = models
  const generations = generationsOf(database)
  const journal = journalOf(database)
  let size: DatabaseSize = nothing
  /** What is stored, or about to be. */
  let caller: string | undefined
  let isCheckpointing = false

  const snapshot = async () => {
    await database.own()
    return beginSnapshot(database, generations, {
      clock,
      version,
      onCommit: (manifest) => {
        size = { pageUnits: sizeOf(manifest), journalUnits: 0 }
      },
    })
  }

  /** What follows is of the new shape, so what it follows from has to be, too. Where that fails, what was read is given all the same. */
  const rewrite = async (
    migrating: MigratingSink,
    restored: Restored,
    sink: RestoreSink,
  ): Promise<Restored> => {
    const rows = migrating.migrated()
    const unknown = migrating.missing
    sink.rows(rows)
    if (unknown.length > 0) sink.ops(unknown)
    let writer: SnapshotWriter | undefined
    try {
      writer = await snapshot()
      for (const page of pagesOf(rows)) await writer.page(page)
      await writer.commit(restored, { ...restored.repair, unknown })
      return restored
    } catch (error) {
      await writer?.abort().catch(() => {})
      return { ...restored, failure: toStorageError(error) }
    }
  }

  return {
    kind: store.kind,
    outbox: openOutbox(connection),
    get size() {
      return size
    },
    snapshot,

    async restore(sink) {
      let migrating: MigratingSink | undefined
      const read = await readStored(database, (stored) => {
        if (stored === version) return sink
        // What a newer version of the application stored, this one cannot read.
        migrating = stored < version ? migratingSink(models, stored) : undefined
        return migrating
      })
      if (!read) return undefined
      const { restored, brokenAt: from } = read
      if (from !== undefined) await database.write(['journal'], (tx) => database.cut(tx, { from }))
      size = read.size
      return migrating ? rewrite(migrating, restored, sink) : restored
    },

    async read(sink) {
      return (await readStored(database, (stored) => (stored === version ? sink : undefined)))?.restored
    },

    async readCaller() {
      caller = namesOf({ caller: await database.read([], (tx) => tx.get('meta', metaKeys.caller)) }).caller
      return caller
    },

    async storeCaller(present) {
      if (present === undefined || present === caller) return
      caller = present
      await database.write([], (tx) => tx.put('meta', metaKeys.caller, present))
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
        await database.own()
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
