import { sql } from 'kysely'
import { backoffMs } from '../../base/backoff.ts'
import type { Clock, Random } from '../../base/environment.ts'
import { isSyncError, NetworkError, toError, wrongOption } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { DatabaseRole } from '../log/database-role.ts'
import type { ClientTransaction, LogFault, Position, StoredRecord, WriteResult } from '../log/log.ts'
import type { Mutex } from '../log/mutex.ts'
import { RuleRunner } from '../log/rules.ts'
import type { Db, SqlDatabase } from '../log/sql/database.ts'
import type { Outcome, Write } from '../log/sql/group.ts'
import { readPosition } from '../log/sql/read.ts'
import { isCanceled, isOfDatabase, isUndecided, wasRolledBack } from '../log/sql/sql-state.ts'
import { lockAndRead, store, type TableReader } from '../log/sql/write.ts'
import { TypeUnavailable } from '../log/type-unavailable.ts'
import { attach, detach, detachAll } from './attach.ts'
import { type AttachmentState, mappingDigest, readAttachments } from './attached.ts'
import { takeInBulk } from './bulk.ts'
import { checkTables, repairTables, type TableCheck } from './check-tables.ts'
import { lockTables, maxKeys, storedOf, tableIsLocked, takeChanges, waitingTypes } from './drain.ts'
import { DrainLoop } from './drain-loop.ts'
import { ColumnsChanged, type MappedTable } from './inspect.ts'
import { readMappings, type TableMappings } from './mapping.ts'
import { type BadRow, badRowsOf } from './probe-rows.ts'
import { queueAllKeys } from './queue-all-keys.ts'
import { refuseCanceled } from './refuse-op.ts'
import { refuseUnsafeFunctions } from './secure-functions.ts'
import { TableWatch } from './table-watch.ts'
import { RunAgain, transactIn } from './transact.ts'
import { readRows } from './write-row.ts'

/** The maximum number of tries of a write that the database rolls back in favour of another. */
const maxTries = 5
const pace = { baseMs: 20, capMs: 500 }

/** How often a transaction may exceed the time limit before it is rejected. */
const maxCanceled = 3

export interface TablesOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** How long a write may wait for the log's lock, in ms. */
  readonly maxWaitMs: number
  readonly mutex: Mutex
  readonly verdictHorizon: (now: number) => number
  /** Called after each commit, with the written changes if they are known. */
  readonly onWritten: (written?: WriteResult) => void
  /** Called when changes could not be stored. */
  readonly onFailed: (error: unknown) => void
}

export interface TableOutcome {
  readonly outcome: Outcome
  readonly changes: WriteResult['changes']
}

/** The attached tables of one log: records their changes in the history, and applies writes to them. */
export class Tables {
  readonly #database: SqlDatabase
  readonly #mappings: TableMappings
  readonly #options: TablesOptions
  readonly #drainLoop: DrainLoop
  readonly #watch: TableWatch
  readonly #canceled = new Map<string, number>()
  #tables: ReadonlyMap<string, MappedTable> = new Map()
  /** The types that were attached when the log was opened. */
  readonly #attached = new Set<string>()
  /** The name of the history when the mapping was last compared with the attached one. */
  #history = ''
  /** Whether the mapping is older than the one that is attached, so that nothing may be written. */
  #isOlder = false

  constructor(database: SqlDatabase, mappings: TableMappings, options: TablesOptions) {
    this.#database = database
    this.#mappings = mappings
    this.#options = options
    const { clock, logger } = options
    this.#drainLoop = new DrainLoop({ drain: () => this.#drainAll(), clock, logger })
    this.#watch = new TableWatch({
      database,
      clock,
      logger,
      onFit: (table) => this.#use([...new Map(this.#tables).set(table.mapping.type, table).values()]),
      onDrainable: () => this.wake(),
    })
  }

  /** What does not work at the moment. */
  get faults(): readonly LogFault[] {
    return this.#watch.faults
  }

  /**
   * Compares the mapping with the attached one, and starts to record changes. Rejects with a ConfigurationError that
   * says what to do if the two do not match.
   */
  async open(ownerField: string): Promise<void> {
    const { migrators } = this.#database
    const found = await this.#watch.start(readMappings(this.#mappings, ownerField))
    for (const { table, state } of found) {
      const { type } = table.mapping
      const advice = adviceOn[state]
      if (advice !== undefined) throw wrongOption(`tables.${type}`, advice)
      if (state === 'columns') await queueAllKeys(migrators, table)
    }
    const tables = found.map(({ table }) => table)
    await this.#use(tables)
    this.#watch.run()
    this.wake()
  }

  /** See {@link attach}. */
  async attach(ownerField: string, onStep: (sentence: string) => void): Promise<void> {
    const { clock } = this.#options
    const drain = async (tables: readonly MappedTable[]) => {
      await this.#watch.refresh()
      await this.#use(tables)
      await this.#drainAll()
    }
    await attach(this.#database, readMappings(this.#mappings, ownerField), { clock, drain, onStep })
  }

  /** See {@link detach}. */
  async detach(ownerField: string, onStep: (sentence: string) => void): Promise<void> {
    const types = readMappings(this.#mappings, ownerField).map(({ type }) => type)
    await detach(this.#database, types, { clock: this.#options.clock, onStep })
  }

  /** See {@link detachAll}. */
  async detachAll(onStep: (sentence: string) => void): Promise<void> {
    await detachAll(this.#database, { clock: this.#options.clock, onStep })
  }

  /** See {@link checkTables}. Repairs what differs if `repair` is true. */
  async check(ownerField: string, repair: boolean): Promise<readonly TableCheck[]> {
    const { migrators } = this.#database
    const mappings = readMappings(this.#mappings, ownerField)
    const checks = await checkTables(migrators, mappings)
    if (!repair) return checks
    await this.#use((await this.#watch.start(mappings)).map(({ table }) => table))
    await repairTables(migrators, mappings)
    await this.#drainAll()
    return checks
  }

  /** Reads which types are attached: without their mapping, nobody may write them. */
  async recognize(): Promise<void> {
    const attachments = await readAttachments(this.#database.followers)
    for (const { t, attached } of attachments.values()) if (attached) this.#attached.add(t)
  }

  /** Rejects with a ConfigurationError if somebody must attach again, since triggers give others more rights. */
  refuseUnsafe(): Promise<void> {
    return refuseUnsafeFunctions(this.#database.followers)
  }

  /** Whether a type is attached to a table, as far as this log knows. */
  has(type: string): boolean {
    return this.#attached.has(type) || this.#tables.has(type) || this.#watch.has(type)
  }

  /** Reads the records of attached types, for rules. */
  readonly reader: TableReader = (type) => {
    const table = this.#tables.get(type)
    if (this.#watch.has(type)) return () => Promise.reject(new TypeUnavailable(type))
    return table && ((db, id) => this.#read(db, table, id))
  }

  /** Records the queued changes soon. */
  wake(): void {
    if (this.#tables.size > 0 && !this.#isOlder) this.#drainLoop.wake()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#watch.stop(), this.#drainLoop.stop()])
  }

  /** The tables that are not set aside. */
  get #usable(): readonly MappedTable[] {
    return [...this.#tables.values()].filter(({ mapping }) => !this.#watch.has(mapping.type))
  }

  /** Returns the record of a row, as the transaction of `db` sees it. Never waits for a lock. */
  async #read(db: Db, table: MappedTable, id: string): Promise<StoredRecord | undefined> {
    const [locked] = await lockTables(db, [table])
    if (!locked) throw tableIsLocked(table)
    const row = (await readRows(db, table, [id], false)).get(id)
    return row && { ...row, sid: 0 }
  }

  /** Applies a write with ops on attached tables, in a transaction of its own. See {@link transactIn}. */
  async write(write: Write): Promise<TableOutcome> {
    const { clock, random } = this.#options
    const role = await write.transaction?.as?.()
    for (let tries = 1; ; tries += 1) {
      if (this.#isOlder) {
        throw new NetworkError(
          'unreachable',
          'The attached tables have a newer mapping than this service; restart it with that mapping.',
        )
      }
      const aside = write.ops.find(({ t }) => this.#watch.has(t))
      if (aside) throw new TypeUnavailable(aside.t)
      const unmapped = write.ops.find(({ t }) => this.#attached.has(t) && !this.#tables.has(t))
      if (unmapped) {
        const message = `The type ${unmapped.t} is attached to a table; add its mapping to \`tables\`.`
        throw new NetworkError('unreachable', message)
      }
      try {
        const result = await this.#try(write, role)
        this.#canceled.delete(keyOf(write.transaction))
        await this.#noteWrite(write, result.outcome)
        return result
      } catch (error) {
        this.#options.onFailed(error)
        if (error instanceof TypeUnavailable) await this.#noteFailure(error)
        if (isCanceled(error) && this.#isCanceledTooOften(write.transaction)) throw refuseCanceled()
        if (error instanceof RunAgain) await this.#prepareFor(error)
        else if (!wasRolledBack(error)) throw unavailable(error)
        if (tries === maxTries) {
          const table = write.ops.find(({ t }) => this.#tables.has(t))
          if (table && error instanceof RunAgain && error.reason === 'unreadable') {
            const failure = new TypeUnavailable(table.t, 'What its writes change cannot be read.')
            await this.#noteFailure(failure)
            throw failure
          }
          const message = `The database rolled the write back ${tries} times: ${toError(error).message}`
          throw new NetworkError('timeout', message, { cause: error })
        }
        await new Promise<void>((resolve) => clock.after(backoffMs(tries, random.number(), pace), resolve))
      }
    }
  }

  async #try(write: Write, role: DatabaseRole | undefined): Promise<TableOutcome> {
    const { clock, maxWaitMs, mutex, verdictHorizon, onWritten } = this.#options
    const { appliers, pageReads } = this.#database
    let endTurn: (() => void) | undefined
    // With a single connection, the connection itself keeps commits in order.
    const beforeLock = async () => {
      if (!pageReads) endTurn ??= await mutex.take()
    }
    try {
      const at = clock.now()
      const transacted = await appliers
        .transaction()
        .setIsolationLevel('read committed')
        .execute((db) =>
          transactIn(db, write, {
            database: this.#database,
            tables: new Map(this.#usable.map((table) => [table.mapping.type, table])),
            isAside: (type) => this.#watch.has(type),
            runner: new RuleRunner(clock, maxWaitMs / 2),
            role,
            at,
            history: this.#history,
            verdictHorizon: verdictHorizon(at),
            maxLogMs: Math.ceil(maxWaitMs / 2),
            beforeLock,
          }),
        )
      const { outcome, written, ownChanges } = transacted
      if (written && written.changes.length > 0) onWritten(written)
      const changes = written?.changes ?? []
      return { outcome, changes: ownChanges === 0 ? [] : changes.slice(-ownChanges) }
    } finally {
      endTurn?.()
    }
  }

  async #noteWrite({ ops }: Write, outcome: Outcome): Promise<void> {
    if ('failure' in outcome) {
      if (outcome.failure instanceof TypeUnavailable) await this.#noteFailure(outcome.failure)
      return
    }
    if (outcome.draft) for (const { t } of ops) await this.#watch.wrote(t)
  }

  /** A write has failed because of its table. Finds out whether the table fits. */
  async #noteFailure({ type, reason }: TypeUnavailable): Promise<void> {
    if (reason === undefined) return
    await this.#watch.check()
    if (!this.#watch.has(type)) await this.#watch.setAside(type, 'writes', reason)
  }

  #isCanceledTooOften(transaction: ClientTransaction | undefined): boolean {
    const key = keyOf(transaction)
    const times = (this.#canceled.get(key) ?? 0) + 1
    this.#canceled.set(key, times)
    if (this.#canceled.size > 1_000) this.#canceled.clear()
    return times >= maxCanceled
  }

  /** Prepares the next run of a transaction that has to run again: removes the reason. */
  async #prepareFor({ reason }: RunAgain): Promise<void> {
    if (reason === 'history') await this.#compare()
    if (reason === 'tooMany') await this.#drainAll()
    if (reason === 'unreadable') {
      await this.#watch.check()
      await this.#drainAll()
    }
  }

  /** Writes to `tables` from now on, or only reads them if another mapping is attached. */
  #use(tables: readonly MappedTable[]): Promise<void> {
    this.#tables = new Map(tables.map((table) => [table.mapping.type, table]))
    return this.#compare()
  }

  /** Finds out whether another mapping is attached than that of the tables in use. */
  async #compare(): Promise<void> {
    const { followers } = this.#database
    const { history } = await readPosition(followers, this.#database)
    const attachments = await readAttachments(followers)
    const wasOlder = this.#isOlder
    this.#isOlder = [...this.#tables.values()].some((table) => {
      const attachment = attachments.get(table.mapping.type)
      return !attachment?.attached || attachment.digest !== mappingDigest(table)
    })
    for (const { t, attached } of attachments.values()) if (attached) this.#attached.add(t)
    this.#history = history
    if (this.#isOlder && !wasOlder) {
      this.#options.logger.warn(
        'Another mapping of the tables is attached, so this service only reads them; restart it with that mapping.',
      )
    }
  }

  /** Records the queued changes. Resolves with whether there were any. */
  async #drainAll(): Promise<boolean> {
    const tables = this.#usable
    const waiting = await waitingTypes(this.#database.followers, tables)
    const own = tables.filter(({ mapping }) => waiting.has(mapping.type))
    if (own.length === 0 || this.#isOlder) return false
    const keys = [...waiting.values()].reduce((sum, type) => sum + type.keys, 0)
    try {
      await this.#drain(own, keys > maxKeys)
      return true
    } catch (error) {
      if (error instanceof RunAgain) {
        await this.#prepareFor(error)
        return this.#drainAll()
      }
      if (!isOfDatabase(error) && !(error instanceof ColumnsChanged)) throw error
    }
    // So that one row or one table does not keep the changes of the others from being recorded.
    await this.#watch.check()
    for (const table of this.#usable) {
      if (!waiting.has(table.mapping.type)) continue
      await this.#drainOne(table).catch(async (error: unknown) => {
        if (!isOfDatabase(error)) throw error
        const reason = `Its changes cannot be recorded (${toError(error).message}).`
        await this.#watch.setAside(table.mapping.type, 'table', reason, true)
      })
    }
    return true
  }

  /** Records the queued changes of one table, whose rows may make statements fail. */
  async #drainOne(table: MappedTable): Promise<void> {
    const { followers } = this.#database
    const bad = await badRowsOf(followers, table, 'waiting')
    const waiting = await waitingTypes(followers, [table])
    await this.#drain([table], (waiting.get(table.mapping.type)?.keys ?? 0) > maxKeys, bad)
  }

  /** Records the queued changes of `tables`, except for the fields of `bad` rows. */
  async #drain(tables: readonly MappedTable[], isMany: boolean, bad: readonly BadRow[] = []): Promise<void> {
    if (isMany || !(await this.#drainSmall(tables, bad))) await this.#drainInBulk(tables, bad)
  }

  /** Records the queued changes as frames. Resolves with `false` if there are too many. */
  async #drainSmall(tables: readonly MappedTable[], bad: readonly BadRow[]): Promise<boolean> {
    const { clock, onWritten } = this.#options
    const { writers, notify, pageReads } = this.#database
    const tooMany = new RunAgain('tooMany')
    return this.#inTurn(async () => {
      try {
        const written = await writers
          .transaction()
          .setIsolationLevel('read committed')
          .execute(async (db) => {
            const locked = await lockTables(db, tables)
            const position = await this.#lock(db)
            const changed = await takeChanges(db, locked, { bad })
            if (!changed) throw tooMany
            const at = clock.now()
            const stored = storedOf(changed, position.head, at)
            await pageReads?.keep(db, stored.records, stored.head)
            if (stored.entries.length > 0) await store(db, notify, { ...stored, verdicts: [] }, at)
            const changes = stored.entries.map(({ sid, owner, movedTo, frame }) => {
              return { sid, owner, movedTo, frame: JSON.stringify(frame) }
            })
            return { ...position, head: stored.head, after: position.head, changes }
          })
        if (written.changes.length > 0) onWritten(written)
        return true
      } catch (error) {
        if (error === tooMany) return false
        throw error
      }
    })
  }

  async #drainInBulk(tables: readonly MappedTable[], bad: readonly BadRow[]): Promise<void> {
    const { migrators, notify, pageReads } = this.#database
    const count = await this.#inTurn(() =>
      migrators
        .transaction()
        .setIsolationLevel('read committed')
        .execute(async (db) => {
          const locked = await lockTables(db, tables)
          if (locked.length === 0) return 0
          const position = await this.#lock(db)
          const types = locked.map(({ mapping }) => mapping.type)
          const take = () => takeInBulk(db, locked, bad)
          const taken = await (pageReads ? pageReads.keepTypes(db, types, position.head + 1, take) : take())
          if (taken > 0) await sql`select ${notify}`.execute(db)
          return taken
        }),
    )
    if (count === 0) return
    this.#options.logger.warn('Many rows changed at once; clients fetch a snapshot.', { records: count })
    this.#options.onWritten()
  }

  async #lock(db: Db): Promise<Position> {
    const { position } = await lockAndRead(db, this.#database.history, [])
    if (position.history !== this.#history) throw new RunAgain('history')
    return position
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const { mutex, onFailed } = this.#options
    const end = this.#database.pageReads ? () => {} : await mutex.take()
    try {
      return await work()
    } catch (error) {
      onFailed(error)
      throw error
    } finally {
      end()
    }
  }
}

/** The advice for a mapping with which a service cannot start. An earlier mapping can be read. */
const adviceOn: Readonly<Record<AttachmentState, string | undefined>> = {
  same: undefined,
  columns: undefined,
  older: undefined,
  unattached: 'is not attached with this mapping; run `instep attach`.',
  unfilled: 'is attached in part; run `instep attach` again.',
  triggers: 'names a table whose triggers are missing or disabled; run `instep attach` again.',
}

/** A NetworkError if another try may succeed, so that the client sends the transaction again; else `error` itself. */
function unavailable(error: unknown): unknown {
  if (isSyncError(error) || !isUndecided(error)) return error
  const message = `The database could not run the transaction: ${toError(error).message}`
  return new NetworkError('unreachable', message, { cause: error })
}

function keyOf(transaction: ClientTransaction | undefined): string {
  return transaction ? JSON.stringify([transaction.caller, transaction.id]) : ''
}
