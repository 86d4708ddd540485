import type { Unsubscribe } from '../base/emitter.ts'
import type { Clock } from '../base/environment.ts'
import { Timer } from '../base/timer.ts'
import { isObject } from '../protocol/json.ts'
import type { SqliteDatabase, SqliteStatement } from './sqlite.ts'

/** The time between two polls for the locks and messages of other clients, in ms. */
const pollMs = 250

/** The statements that prepare the file. They wait for other processes, and block the thread for 200 ms at most. */
const preparation = [
  'PRAGMA busy_timeout = 200',
  'PRAGMA journal_mode = WAL',
  'PRAGMA synchronous = NORMAL',
  'CREATE TABLE IF NOT EXISTS lock (name TEXT PRIMARY KEY, holder TEXT, at INTEGER)',
  `CREATE TABLE IF NOT EXISTS message
    (n INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, channel TEXT, sender TEXT, value TEXT)`,
]

/**
 * The file through which the clients of one database share locks and messages, also across processes. It is separate
 * from the data file, so that polling never waits for a transaction. The file stays open while there is a watcher.
 */
export class ClientsFile {
  readonly #open: () => SqliteDatabase
  readonly #timer: Timer
  readonly #watchers = new Set<() => void>()
  readonly #statements = new Map<string, SqliteStatement>()
  #database: SqliteDatabase | undefined

  constructor(clock: Clock, open: () => SqliteDatabase) {
    this.#open = open
    this.#timer = new Timer(clock, () => {
      this.#timer.set(pollMs)
      for (const onPoll of this.#watchers) {
        try {
          onPoll()
        } catch {
          // The next poll tries again.
        }
      }
    })
  }

  /** Calls `onPoll`, which may throw, every 250 ms. Call the returned function to stop. */
  watch(onPoll: () => void): Unsubscribe {
    this.#watchers.add(onPoll)
    this.#timer.within(pollMs)
    return () => {
      this.#watchers.delete(onPoll)
      if (this.#watchers.size === 0) this.#close()
    }
  }

  /** Runs one statement. Throws if SQLite does. */
  run(sql: string, ...values: (string | number)[]): void {
    this.#statement(sql).run(...values)
  }

  /** Returns the rows of a query. Throws if SQLite does. */
  rows(sql: string, ...values: (string | number)[]): readonly { readonly [column: string]: unknown }[] {
    const rows = this.#statement(sql).all(...values)
    return Array.isArray(rows) ? rows.filter(isObject) : []
  }

  #statement(sql: string): SqliteStatement {
    this.#database ??= this.#prepared()
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #prepared(): SqliteDatabase {
    const database = this.#open()
    try {
      for (const sql of preparation) database.exec(sql)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  }

  #close(): void {
    this.#timer.clear()
    this.#statements.clear()
    this.#database?.close()
    this.#database = undefined
  }
}
