import type { Clock } from '../../base/environment.ts'
import { toError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import { Timer } from '../../base/timer.ts'
import type { LogFault } from '../log/log.ts'
import type { SqlDatabase } from '../log/sql/database.ts'
import { type AsideState, endAside, readAsides, rowsAside, setAside } from './aside.ts'
import { readAttachments } from './attached.ts'
import { examine, type FittingTable, isLocked } from './examine.ts'
import type { MappedTable } from './inspect.ts'
import type { TypeMapping } from './mapping.ts'
import { queueAllKeys } from './queue-all-keys.ts'

/** The maximum number of rows that a line of the log names. */
const maxNamed = 10

/** The time between two looks at the catalog, in ms. */
const watchMs = 2_500

export interface TableWatchOptions {
  readonly database: SqlDatabase
  readonly clock: Clock
  readonly logger: Logger
  /** Called with a table that fits again, or has changed, before all of its keys are queued. */
  readonly onFit: (table: MappedTable) => Promise<void>
  /** Called when queued changes can be recorded again. */
  readonly onDrainable: () => void
}

/** Sets tables aside that no longer fit, and takes them back. See aside.ts. */
export class TableWatch {
  readonly #options: TableWatchOptions
  readonly #timer: Timer
  #mappings: readonly TypeMapping[] = []
  /** The rows of the table `instep_aside`, as they were last read. */
  #state: AsideState = { tables: new Map(), writes: new Map(), rows: new Map() }
  #running: Promise<void> | undefined
  #isStopped = false
  /** The tables in use, as text: another process may be the first to take a change. */
  readonly #inUse = new Map<string, string>()

  constructor(options: TableWatchOptions) {
    this.#options = options
    this.#timer = new Timer(options.clock, () => void this.check().catch(() => {}))
  }

  /** What does not work, as of the last look. */
  get faults(): readonly LogFault[] {
    const { tables, writes, rows } = this.#state
    return [
      ...[...tables.keys()].map((type) => ({ type, kind: 'table', count: 1 }) as const),
      ...[...writes.keys()].map((type) => ({ type, kind: 'writes', count: 1 }) as const),
      ...[...rows].map(([type, count]) => ({ type, kind: 'row', count }) as const),
    ]
  }

  /** Whether the table of a type is set aside. */
  has(type: string): boolean {
    return this.#state.tables.has(type)
  }

  /** Looks for the first time. Resolves with the tables that fit. */
  async start(mappings: readonly TypeMapping[]): Promise<readonly FittingTable[]> {
    const { followers } = this.#options.database
    this.#mappings = mappings
    const attachments = await readAttachments(followers)
    this.#state = await readAsides(followers)
    const tables: FittingTable[] = []
    for (const mapping of mappings) {
      const found = await examine(followers, mapping, attachments.get(mapping.type))
      if ('unfit' in found) await this.setAside(mapping.type, 'table', found.unfit)
      else {
        this.#inUse.set(mapping.type, JSON.stringify(found.table))
        const isBack = this.#isToTakeBack(found)
        if (isBack) await this.#takeBack(found.table)
        tables.push(isBack ? { ...found, state: 'same' } : found)
      }
    }
    return tables
  }

  /** Begins to look by itself. */
  run(): void {
    if (!this.#isStopped) this.#timer.set(watchMs)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer.clear()
    await this.#running?.catch(() => {})
  }

  /** Looks now. Resolves once a look that has begun after the call, or shortly before it, has ended. */
  async check(): Promise<void> {
    this.#running ??= this.#check().finally(() => {
      this.#running = undefined
      this.run()
    })
    await this.#running
  }

  /** Notes in the database and the log that something does not work. */
  async setAside(type: string, kind: 'table' | 'writes', reason: string, isLasting = false): Promise<void> {
    const { database, logger } = this.#options
    const known = kind === 'table' ? this.#state.tables.get(type)?.reason : this.#state.writes.get(type)
    await setAside(database.followers, [{ t: type, kind, id: '', reason }], isLasting)
    await this.refresh()
    if (known === reason) return
    const what =
      kind === 'table'
        ? 'A table is set aside: its type only shows its last rows.'
        : 'A write failed for a reason that is not in its data.'
    logger.error(what, { type, reason })
  }

  /** A write of the type has succeeded. */
  async wrote(type: string): Promise<void> {
    if (!this.#state.writes.has(type)) return
    await this.#end(type, 'writes')
  }

  /** Reads again what is set aside. */
  async refresh(): Promise<void> {
    const { database, logger } = this.#options
    const known = this.#state.rows
    this.#state = await readAsides(database.followers)
    for (const [type, count] of this.#state.rows) {
      if (count <= (known.get(type) ?? 0)) continue
      const rows = await rowsAside(database.followers, type, maxNamed)
      const named = rows.map(({ id, reason }) => `${id}: ${reason}`)
      logger.error('Rows are set aside, since they cannot be records.', { type, count, rows: named })
    }
  }

  async #check(): Promise<void> {
    const { database, onFit, onDrainable } = this.#options
    const { followers } = database
    const attachments = await readAttachments(followers)
    await this.refresh()
    for (const mapping of this.#mappings) {
      const { type } = mapping
      const attachment = attachments.get(type)
      if (!attachment?.attached || (await isLocked(followers, attachment.relation))) continue
      const found = await examine(followers, mapping, attachment).catch((error: unknown) => {
        this.#options.logger.warn('A table could not be checked.', { type, reason: toError(error).message })
      })
      if (!found) continue
      if ('unfit' in found) {
        await this.setAside(type, 'table', found.unfit)
        continue
      }
      const { table, state } = found
      const text = JSON.stringify(table)
      const isBack = this.#isToTakeBack(found)
      const hasChanged = state === 'same' && this.#inUse.get(type) !== text
      if (state !== 'columns' && !isBack && !hasChanged) continue
      await onFit(table)
      this.#inUse.set(type, text)
      if (isBack) await this.#takeBack(table)
      else if (state === 'columns') await queueAllKeys(database.migrators, table)
      onDrainable()
    }
  }

  /** Whether the table of a type is set aside, and fits again. */
  #isToTakeBack({ table, state }: FittingTable): boolean {
    const aside = this.#state.tables.get(table.mapping.type)
    return aside?.isDue === true && (state === 'same' || state === 'columns' || state === 'unfilled')
  }

  /** Ends that a table is set aside. Nobody has recorded what changed meanwhile, so all of its keys are queued. */
  async #takeBack(table: MappedTable): Promise<void> {
    await queueAllKeys(this.#options.database.migrators, table)
    await this.#end(table.mapping.type, 'table')
  }

  async #end(type: string, kind: 'table' | 'writes'): Promise<void> {
    const { database, logger } = this.#options
    await endAside(database.followers, type, kind)
    await this.refresh()
    logger.info(
      kind === 'table' ? 'A table fits again, and all of its rows are taken.' : 'Writes succeed again.',
      { type },
    )
  }
}
