import { StorageError } from '../base/errors.ts'
import type { KeyRange, KeySpan, StoreValue, Table, TransactionOptions } from '../storage/store.ts'
import { tables } from '../storage/store.ts'
import type { SyncTables } from '../storage/sync-transaction.ts'
import { transactionFailure } from './failures.ts'
import type { SqliteDatabase, SqliteStatement } from './sqlite.ts'

/** Raised when the tables become others. What they hold has a format of its own. */
const version = 1

/** How long another process is waited for, in ms; nothing else happens meanwhile. */
const busyMs = 2_000

/** Behind every key, since keys are ASCII. */
const end = '\u{10ffff}'

/** An open file: its tables, and the bounds of its transactions. Each call may throw a StorageError. */
export class SqliteHandle implements SyncTables {
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()
  #durability: TransactionOptions['durability']

  /** Makes the tables where there are none. Throws what SQLite does, and has closed the database then. */
  constructor(database: SqliteDatabase) {
    this.#database = database
    try {
      database.exec(`PRAGMA busy_timeout = ${busyMs}`)
      // Readers of other processes then go on while one writes; and a commit need not wait for the disk.
      database.exec('PRAGMA journal_mode = WAL')
      // What macOS calls a flush may leave it in the drive (sqlite.org/pragma.html#pragma_fullfsync).
      database.exec('PRAGMA fullfsync = ON')
      database.exec('BEGIN IMMEDIATE')
      this.#make()
      database.exec('COMMIT')
    } catch (error) {
      // Closing alone need not end a transaction: a library may wait for its statements to be collected.
      this.rollback()
      this.close()
      throw error
    }
  }

  begin({ mode, durability = 'relaxed' }: TransactionOptions): void {
    this.#do(() => {
      if (mode === 'write' && this.#durability !== durability) {
        // With a write-ahead log, NORMAL loses the last transactions where the power fails, and no more than that.
        this.#database.exec(`PRAGMA synchronous = ${durability === 'strict' ? 'FULL' : 'NORMAL'}`)
        this.#durability = durability
      }
      this.#database.exec(mode === 'write' ? 'BEGIN IMMEDIATE' : 'BEGIN')
    })
  }

  commit(): void {
    this.#do(() => this.#database.exec('COMMIT'))
  }

  /** Never throws: after some failures SQLite has done it already. */
  rollback(): void {
    try {
      this.#database.exec('ROLLBACK')
    } catch {}
  }

  /** Never throws: there is nothing to be done about it. */
  close(): void {
    try {
      this.#database.close()
    } catch {}
  }

  has(table: Table, key: string): boolean {
    return this.#one(`SELECT 1 AS value FROM ${table} WHERE key = ?`, key) !== undefined
  }

  get(table: Table, key: string): StoreValue | undefined {
    const text = this.#one(`SELECT value FROM ${table} WHERE key = ?`, key)
    return text === undefined ? undefined : parse(text)
  }

  keys(table: Table, range: KeyRange): readonly string[] {
    return this.#column('key', table, range)
  }

  values(table: Table, range: KeyRange): readonly StoreValue[] {
    return this.#column('value', table, range).map(parse)
  }

  put(table: Table, key: string, value: StoreValue): void {
    this.#run(`INSERT OR REPLACE INTO ${table} (key, value) VALUES (?, ?)`, key, textOf(value))
  }

  delete(table: Table, key: string | KeySpan): void {
    if (typeof key === 'string') this.#run(`DELETE FROM ${table} WHERE key = ?`, key)
    else this.#run(`DELETE FROM ${table} WHERE key >= ? AND key < ?`, key.from ?? '', key.to ?? end)
  }

  #make(): void {
    const made = fieldOf(this.#statement('PRAGMA user_version').get(), 'user_version')
    if (made === version) return
    if (made !== 0) {
      const message = 'The local database was made by another version of the application: use that one.'
      throw new StorageError('unavailable', message)
    }
    for (const table of tables) {
      this.#database.exec(`CREATE TABLE ${table} (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL)`)
    }
    this.#database.exec(`PRAGMA user_version = ${version}`)
  }

  #one(sql: string, key: string): unknown {
    const row = this.#do(() => this.#statement(sql).get(key))
    return row ? fieldOf(row, 'value') : undefined
  }

  #column(column: 'key' | 'value', table: Table, { from = '', to = end, reverse, limit = -1 }: KeyRange) {
    const order = reverse ? 'DESC' : 'ASC'
    const sql = `SELECT ${column} FROM ${table} WHERE key >= ? AND key < ? ORDER BY key ${order} LIMIT ?`
    const rows = this.#do(() => this.#statement(sql).all(from, to, limit))
    return (Array.isArray(rows) ? rows : []).map((row) => String(fieldOf(row, column)))
  }

  #run(sql: string, ...values: string[]): void {
    this.#do(() => this.#statement(sql).run(...values))
  }

  #statement(sql: string): SqliteStatement {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #do<T>(call: () => T): T {
    try {
      return call()
    } catch (error) {
      throw transactionFailure(error)
    }
  }
}

function fieldOf(row: unknown, column: string): unknown {
  return typeof row === 'object' && row !== null ? Reflect.get(row, column) : undefined
}

/** As JSON, which keeps every string, the ones included that are not well-formed or hold a NUL. */
function textOf(value: StoreValue): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new StorageError('aborted', 'What is to be stored is not JSON.')
  return text
}

function parse(text: unknown): StoreValue {
  try {
    return JSON.parse(String(text))
  } catch (cause) {
    throw new StorageError('unreadable', 'A value in the local database cannot be read.', { cause })
  }
}
