import type { Unsubscribe } from '../base/emitter.ts'
import type { Clock } from '../base/environment.ts'
import { Timer } from '../base/timer.ts'
import { isObject } from '../protocol/json.ts'
import type { SqliteDatabase, SqliteStatement } from './sqlite.ts'

/** The time between two looks at the locks and messages of other clients, in ms. */
const lookMs = 250

/** What prepares the file. Other processes are waited for: the thread is blocked for 200 ms at most. */
const preparation = [
  'PRAGMA busy_timeout = 200',
  'PRAGMA journal_mode = WAL',
  'PRAGMA synchronous = NORMAL',
  'CREATE TABLE IF NOT EXISTS lock (name TEXT PRIMARY KEY, holder TEXT, at INTEGER)',
  `CREATE TABLE IF NOT EXISTS message
    (n INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, channel TEXT, sender TEXT, value TEXT)`,
]

/**
 * The file in which the clients of one database, in whatever process, share locks and messages. It is not the file of the
 * data, so that a look never waits for a transaction. It is open as long as anybody looks.
 */
export class ClientsFile {
  readonly #open: () => SqliteDatabase
  readonly #timer: Timer
  readonly #looks = new Set<() => void>()
  readonly #statements = new Map<string, SqliteStatement>()
  #database: SqliteDatabase | undefined

  constructor(clock: Clock, open: () => SqliteDatabase) {
    this.#open = open
    this.#timer = new Timer(clock, () => {
      this.#timer.set(lookMs)
      for (const look of this.#looks) {
        try {
          look()
        } catch {
          // The next look tries again.
        }
      }
    })
  }

  /** Calls `look`, which may throw, every 250 ms. Call the returned function to stop. */
  watch(look: () => void): Unsubscribe {
    this.#looks.add(look)
    this.#timer.within(lookMs)
    return () => {
      this.#looks.delete(look)
      if (this.#looks.size === 0) this.#close()
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
