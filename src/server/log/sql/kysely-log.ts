import { CompiledQuery, sql } from 'kysely'
import { withDeadline } from '../../../base/deadline.ts'
import { Emitter, type Unsubscribe } from '../../../base/emitter.ts'
import type { Random } from '../../../base/environment.ts'
import { isSyncError, NetworkError, toError, wrongOption } from '../../../base/errors.ts'
import { Timer } from '../../../base/timer.ts'
import type { TxOp } from '../../../protocol/tx.ts'
import type { TableCheck } from '../../tables/check-tables.ts'
import type { TableMappings } from '../../tables/mapping.ts'
import { Tables } from '../../tables/tables.ts'
import { GroupQueue } from '../group-queue.ts'
import type {
  Changes,
  ClientTransaction,
  Delta,
  Judge,
  ListedRecord,
  LogFault,
  LogRead,
  OnCommitted,
  Position,
  RecordKey,
  RecordPage,
  Snapshot,
  StoredRecord,
  Verdict,
  WriteResult,
} from '../log.ts'
import { Mutex } from '../mutex.ts'
import { toRejection } from '../rejection.ts'
import { forgetEveryMs, type Retention, verdictHorizonOf } from '../retention.ts'
import { maxRulesMs, RuleRunner } from '../rules.ts'
import { TypeUnavailable } from '../type-unavailable.ts'
import type { Db, SqlDatabase } from './database.ts'
import type { Outcome, Write } from './group.ts'
import { forgetIn, readKeys, readOwners, readPage } from './list.ts'
import { LongReads } from './long-reads.ts'
import {
  hasMoreThan,
  IsLong,
  isCurrent,
  openDelta,
  openSnapshot,
  readChanges,
  readOwnerField,
  readPosition,
  readRecord,
} from './read.ts'
import { Reader, type ReaderOptions, type ReadPool } from './reader.ts'
import { withRetries } from './refusal.ts'
import { forgettable, forgetVerdicts } from './retention.ts'
import { Room } from './room.ts'
import { SlowDeltas } from './slow-deltas.ts'
import { type OpenSnapshot, Snapshots } from './snapshots.ts'
import type { SqlLog, SqlQuery, SqlRow } from './sql-log.ts'
import { isFull } from './sql-state.ts'
import { writeIn } from './write.ts'

/** The maximum number of changes that one statement deletes, so that no other statement waits for long. */
const maxTrimmed = 10_000

/** How long `position` waits for the log's lock, in ms: less than the caller of `position` waits. */
const tryLockMs = 1_000

/** A snapshot of more records than this is long, and a delta of more changes. */
const longRead = 20_000

/** The number of connections for bootstraps and for deltas, if there is no limit. */
const defaultConnections = { readers: 8, deltas: 4 }

/** How long reads may take to end when the log closes, in ms. */
const closeMs = 5_000

export interface LogOptions extends ReaderOptions {
  readonly random: Random
  readonly retention: Retention | undefined
  /** How long a write may wait for other writes, and then for the log's lock, in ms. */
  readonly maxWaitMs: number
  /** The number of connections for bootstraps, and for deltas. @default no limit */
  readonly maxReaders?: number
  readonly maxDeltaReaders?: number
  /** The tables of the application that hold the records of types. @default none */
  readonly tables?: TableMappings | undefined
}

/** This number of bytes counts as much as one op towards the size of a group. A full group has about 16 MiB. */
const opBytes = 16_384

interface ReportedWrite extends Write {
  readonly onCommitted: OnCommitted | undefined
}

export class KyselyLog implements SqlLog {
  readonly #database: SqlDatabase
  readonly #options: LogOptions
  readonly #reader: Reader
  readonly #hints: Emitter<{ hint: WriteResult | undefined }>
  readonly #forgetTimer: Timer
  readonly #slow: SlowDeltas
  readonly #writes: GroupQueue<ReportedWrite, Outcome>
  /** Writes with ops on attached tables. */
  readonly #tableWrites: GroupQueue<ReportedWrite, Outcome>
  readonly #tables: Tables
  readonly #snapshots: Snapshots
  readonly #long: Readonly<Record<ReadPool, LongReads>>
  /** Runs the commits of this process one after the other, so that they are reported in the order of their sids. */
  readonly #mutex = new Mutex()
  /** The number of reads that wait for a connection, or for their first batch. */
  readonly #opening = { readers: 0, deltas: 0 }
  readonly #room: Room
  #stopListening: Unsubscribe | undefined
  /** Whether the last write failed because the database was away. */
  #failing = false
  #closed = false

  /** Requires migrated tables. */
  constructor(database: SqlDatabase, options: LogOptions) {
    this.#database = database
    this.#options = options
    this.#reader = new Reader(options)
    this.#room = new Room(options.logger)
    this.#slow = new SlowDeltas(() => options.clock.now())
    this.#hints = new Emitter((error) => {
      options.logger.error('A listener of `onHint` failed.', { reason: toError(error).message })
    })
    const turns = {
      sizeOf: ({ ops }: Write) => 1 + Math.max(ops.length, JSON.stringify(ops).length / opBytes),
      callerOf: ({ transaction }: Write) => transaction?.caller,
      isOfOne: (error: unknown) => !isSyncError(error) || !error.retryable,
      pauses: database.pageReads ? 16 : 1,
      clock: options.clock,
      maxWaitMs: options.maxWaitMs,
    }
    this.#writes = new GroupQueue<ReportedWrite, Outcome>({ ...turns, run: (writes) => this.#commit(writes) })
    // Each is a transaction of its own, and waits for rows that others have locked.
    this.#tableWrites = new GroupQueue<ReportedWrite, Outcome>({
      ...turns,
      run: (writes) => Promise.all(writes.map((write) => this.#doOnTables(write))),
      maxAtOnce: 1,
      lanes: database.maxAppliers,
      lanesOfCaller: Math.ceil(database.maxAppliers / 2),
    })
    this.#long = {
      readers: this.#longReads('readers', options.maxReaders),
      deltas: this.#longReads('deltas', options.maxDeltaReaders),
    }
    this.#snapshots = new Snapshots({
      isLong: (owners) => this.#open('readers', () => hasMoreThan(database.readers, owners, longRead)),
      open: (owners) => this.#open('readers', () => openSnapshot(database, owners)),
      isCurrent: (owners, position) => isCurrent(database.followers, database, owners, position),
      long: this.#long.readers,
    })
    this.#tables = this.#makeTables(options.tables ?? {})
    this.#forgetTimer = new Timer(options.clock, () => void this.#forget())
    if (options.retention || database.pageReads) this.#forgetTimer.set(forgetEveryMs)
  }

  async write(ops: readonly TxOp[], judge: Judge, onCommitted?: OnCommitted): Promise<number> {
    const outcome = await this.#do({ ops, judge, onCommitted }).catch((error: unknown) => {
      if (!(error instanceof TypeUnavailable)) throw error
      throw new NetworkError('unreachable', error.message, { cause: error })
    })
    if ('failure' in outcome) throw outcome.failure
    if (!outcome.draft) throw outcome.thrown
    return outcome.draft.sid
  }

  async transact(transaction: ClientTransaction, judge: Judge, onCommitted?: OnCommitted): Promise<Verdict> {
    const decide = async (tx: ClientTransaction) => {
      const outcome = await this.#do({ ops: tx.ops, judge, onCommitted, transaction: tx })
      if ('failure' in outcome) throw outcome.failure
      return outcome.verdict
    }
    try {
      return await decide(transaction)
    } catch (error) {
      const refused = toRejection(error)
      // Store the rejection as the verdict. If the database refuses the rejection as well, nothing is stored: the
      // client gets the same verdict each time.
      return decide({ ...transaction, refused }).catch((again) => ({ error: toRejection(again) }))
    }
  }

  read(t: string, id: string): Promise<StoredRecord | undefined> {
    return readRecord(this.#database.followers, t, id)
  }

  list(page: RecordPage): Promise<readonly ListedRecord[]> {
    return readPage(this.#database.deltas, page)
  }

  owners(after: string, limit: number): Promise<readonly string[]> {
    return readOwners(this.#database.deltas, after, limit)
  }

  keysOf(owner: string, limit: number): Promise<readonly RecordKey[]> {
    return readKeys(this.#database.deltas, owner, limit)
  }

  forget(owner: string, caller?: string): Promise<boolean> {
    return forgetIn(this.#database.writers, owner, caller)
  }

  async snapshot(owners: readonly string[], caller?: string): Promise<Snapshot> {
    const read = await this.#snapshots.open(owners, caller)
    return { ...this.#handOut('readers', read), count: read.count }
  }

  async delta(owners: readonly string[], since: number, caller?: string): Promise<Delta> {
    const open = (most: number) =>
      this.#open('deltas', () => openDelta(this.#database, owners, since, { slow: this.#slow, most }))
    const read = await open(longRead).catch((error: unknown) => {
      if (!(error instanceof IsLong)) throw error
      return this.#long.deltas.inTurn(caller, () => open(Number.POSITIVE_INFINITY))
    })
    return { ...this.#handOut('deltas', read), isTooMany: read.isTooMany }
  }

  changes(after: number, limit: number): Promise<Changes> {
    return readChanges(this.#database, after, limit)
  }

  /** Also rejects if the last write has shown that the database accepts no writes. */
  async position(): Promise<Position> {
    if (this.#failing) await this.#database.writers.transaction().execute(tryLock)
    this.#failing = false
    return readPosition(this.#database.followers, this.#database)
  }

  faults(): readonly LogFault[] {
    return [...this.#tables.faults, ...(this.#room.isFull ? [{ kind: 'full' } as const] : [])]
  }

  onHint(listener: (written?: WriteResult) => void): Unsubscribe {
    this.#listen()
    return this.#hints.on('hint', listener)
  }

  async trim(sid: number): Promise<void> {
    const { writers, pageReads } = this.#database
    await sql`update instep_state set horizon = greatest(horizon, least(head, ${sid}::bigint))`.execute(
      writers,
    )
    const { horizon } = await this.position()
    const forgotten = Math.min(horizon, pageReads?.unneeded ?? horizon)
    for (let deleted = maxTrimmed; deleted === maxTrimmed; ) {
      const { rows } = await sql`
        delete from instep_log where sid in (
          select sid from instep_log where sid <= ${forgotten} order by sid limit ${sql.lit(maxTrimmed)}
        ) returning 1`.execute(writers)
      deleted = rows.length
    }
  }

  async claim(ownerField: string): Promise<void> {
    await this.#claimField(ownerField)
    await this.#tables.refuseUnsafe()
    if (!this.#options.tables) return
    await this.#tables.open(ownerField)
    this.#listen()
  }

  async #claimField(ownerField: string): Promise<void> {
    const { writers, followers } = this.#database
    const readClaimed = () => readOwnerField(followers)
    // A read-only server can still serve a database that is claimed already.
    if ((await readClaimed()) === null) {
      await sql`update instep_state set owner_field = ${ownerField} where owner_field is null`.execute(
        writers,
      )
    }
    const stored = await readClaimed()
    if (stored === ownerField) return
    const advice = 'set `ownerField` to that field, or use another database'
    throw wrongOption(
      'ownerField',
      `is '${ownerField}', but the records of this database name their owner in '${stored}'; ${advice}.`,
    )
  }

  sql<T>(work: (query: SqlQuery) => Promise<T>): Promise<T> {
    const queryOn = (db: Db): SqlQuery => {
      return async (text, values = []) =>
        (await db.executeQuery<SqlRow>(CompiledQuery.raw(text, [...values]))).rows
    }
    return this.#database.appliers.transaction().execute((db) => work(queryOn(db)))
  }

  /** Reads which types are attached to tables. Call it before the log is used. */
  async recognizeTables(): Promise<this> {
    await this.#tables.recognize()
    return this
  }

  async attach(ownerField: string, onStep: (sentence: string) => void = () => {}): Promise<void> {
    await this.#claimField(ownerField)
    await this.#requiredTables.attach(ownerField, onStep)
    await this.analyze()
  }

  async analyze(): Promise<void> {
    const { migrators } = this.#database
    const { rows } = await sql<{ name: string }>`
      select to_regclass(relation)::text as name from instep_table
      where attached and to_regclass(relation) is not null`.execute(migrators)
    const names = ['instep_log', 'instep_record', 'instep_verdict', ...rows.map(({ name }) => name)]
    // PostgreSQL has quoted the names where necessary.
    await sql.raw(`analyze ${names.join()}`).execute(migrators)
  }

  async detach(ownerField: string, onStep: (sentence: string) => void = () => {}): Promise<void> {
    await this.#requiredTables.detach(ownerField, onStep)
  }

  async detachAll(onStep: (sentence: string) => void = () => {}): Promise<void> {
    await this.#tables.stop()
    await this.#tables.detachAll(onStep)
  }

  async checkTables(
    ownerField: string,
    { repair = false }: { readonly repair?: boolean } = {},
  ): Promise<readonly TableCheck[]> {
    return this.#requiredTables.check(ownerField, repair)
  }

  async newEpoch(): Promise<void> {
    await sql`update instep_state set history = gen_random_uuid()`.execute(this.#database.writers)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#forgetTimer.clear()
    this.#stopListening?.()
    this.#hints.clear()
    await this.#tables.stop()
    const { clock, logger } = this.#options
    const late = () => new Error('The reads took too long.')
    await withDeadline(clock, closeMs, this.#reader.close(), late).catch((error) => {
      logger.warn('Open reads did not end in time.', { reason: toError(error).message })
    })
    await this.#database.close()
  }

  #longReads(pool: ReadPool, connections = defaultConnections[pool]): LongReads {
    const { clock, maxWaitMs } = this.#options
    return new LongReads({ onWait: () => this.#reader.release(pool), connections, clock, maxWaitMs })
  }

  #do(write: ReportedWrite): Promise<Outcome> {
    const isRefused = write.transaction?.refused !== undefined
    const isOnTables = !isRefused && write.ops.some(({ t }) => this.#tables.has(t))
    return (isOnTables ? this.#tableWrites : this.#writes).do(write)
  }

  async #doOnTables(write: ReportedWrite): Promise<Outcome> {
    const { outcome, changes } = await this.#tables.write(write)
    if (changes.length > 0) write.onCommitted?.(changes)
    return outcome
  }

  get #requiredTables(): Tables {
    if (this.#options.tables) return this.#tables
    throw wrongOption('tables', 'is missing; it says which tables hold the records of which types.')
  }

  #makeTables(mappings: TableMappings): Tables {
    const { clock, random, logger, maxWaitMs, retention = {} } = this.#options
    return new Tables(this.#database, mappings, {
      clock,
      random,
      logger,
      maxWaitMs,
      mutex: this.#mutex,
      verdictHorizon: (now) => verdictHorizonOf(retention, now),
      onWritten: (written) => this.#onWritten(written),
      onFailed: (error) => this.#room.failed(error),
    })
  }

  #onWritten(written?: WriteResult): void {
    this.#room.stored()
    this.#hints.emit('hint', written)
  }

  #listen(): void {
    this.#stopListening ??= this.#database.listen((notice) => {
      if (notice === 'changed') this.#tables.wake()
      else this.#hints.emit('hint', undefined)
    })
  }

  /**
   * Each statement sees what was committed before it (`read committed`). So it also sees the writes that held the log's
   * lock while it waited.
   */
  async #commit(writes: readonly ReportedWrite[]): Promise<readonly Outcome[]> {
    const endTurn = this.#database.pageReads ? () => {} : await this.#mutex.take()
    return this.#commitNow(writes).finally(endTurn)
  }

  async #commitNow(writes: readonly ReportedWrite[]): Promise<readonly Outcome[]> {
    const transaction = this.#database.writers.transaction().setIsolationLevel('read committed')
    const { clock, random, maxWaitMs, retention = {} } = this.#options
    const write = (db: Db) => {
      const now = clock.now()
      // Others wait for the lock for `maxWaitMs`, and rules must not use up all of it.
      const runner = new RuleRunner(clock, Math.min(maxRulesMs, maxWaitMs / 2))
      return writeIn(db, this.#database, writes, now, {
        runner,
        verdictHorizon: verdictHorizonOf(retention, now),
        tableReader: this.#tables.reader,
      })
    }
    const { outcomes, written } = await withRetries(() => transaction.execute(write), {
      clock,
      random,
      maxMs: maxWaitMs,
    }).catch((error) => {
      this.#room.failed(error)
      const isAway = isSyncError(error, 'NetworkError')
      this.#failing = isAway && !isFull(error)
      // The write may have been committed all the same.
      if (isAway) this.#hints.emit('hint', undefined)
      throw error
    })
    this.#failing = false
    if (written.changes.length > 0) this.#onWritten(written)
    let reported = 0
    for (const [index, outcome] of outcomes.entries()) {
      const count = 'failure' in outcome ? 0 : (outcome.draft?.frames.length ?? 0)
      const changes = written.changes.slice(reported, reported + count)
      reported += changes.length
      if (changes.length > 0) writes[index]?.onCommitted?.(changes)
    }
    return outcomes
  }

  async #forget(): Promise<void> {
    const { clock, logger, retention = {} } = this.#options
    try {
      const next = () => forgettable(this.#database.followers, retention, clock.now())
      for (let sid = await next(), before = 0; sid > before; sid = await next()) {
        await this.trim(sid)
        before = sid
      }
      await forgetVerdicts(this.#database.writers, retention, clock.now())
      // Nothing else collects statistics in a folder.
      if (this.#database.pageReads) await this.analyze()
    } catch (error) {
      logger.warn(
        'Old changes or verdicts could not be deleted, or statistics not collected; trying again later.',
        {
          reason: toError(error).message,
        },
      )
    }
    if (!this.#closed) this.#forgetTimer.set(forgetEveryMs)
  }

  async #open<T>(pool: ReadPool, open: () => Promise<T>): Promise<T> {
    this.#opening[pool] += 1
    this.#makeRoom(pool)
    try {
      return await open()
    } finally {
      this.#opening[pool] -= 1
    }
  }

  #handOut(pool: ReadPool, { position, cursor }: Pick<OpenSnapshot, 'position' | 'cursor'>): LogRead {
    const batches = this.#reader.read(cursor, pool)
    this.#makeRoom(pool)
    return { ...position, batches }
  }

  /** If reads wait for a connection of `pool`, those that hold one give it back, however slowly they are read. */
  #makeRoom(pool: ReadPool): void {
    const { maxReaders = Number.POSITIVE_INFINITY, maxDeltaReaders = Number.POSITIVE_INFINITY } =
      this.#options
    const connections = pool === 'readers' ? maxReaders : maxDeltaReaders
    const isCrowded = this.#reader.held(pool) + this.#opening[pool] > connections
    if (isCrowded || this.#long[pool].isWaitedFor) this.#reader.release(pool)
  }
}

/** Rejects with the error of the database if the log's lock is not available. */
async function tryLock(db: Db): Promise<void> {
  await sql`set local lock_timeout = ${sql.lit(tryLockMs)}`.execute(db)
  await sql`select from instep_state for update`.execute(db)
}
