import { StorageError } from '../base/errors.ts'
import type { KeyRange, KeySpan, StoreValue, Table, TransactionOptions } from '../storage/store.ts'
import { tables } from '../storage/store.ts'
import type { SyncTables } from '../storage/sync-transaction.ts'
import { transactionFailure } from './failures.ts'
import type { SqliteDatabase, SqliteStatement } from './sqlite.ts'

/** Increase this number when the tables change. The data in them has a separate format number. */
const version = 1

/** Maximum time to wait for another process, in ms. The thread is blocked meanwhile. */
const busyMs = 2_000

/** Sorts after every key, since keys are ASCII. */
const end = '\u{10ffff}'

/** An open file: its tables, and the begin and end of its transactions. Each call may throw a StorageError. */
export class SqliteHandle implements SyncTables {
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()
  #durability: TransactionOptions['durability']

  /** Creates the tables if they do not exist. If SQLite throws, closes the database and rethrows. */
  constructor(database: SqliteDatabase) {
    this.#database = database
    try {
      database.exec(`PRAGMA busy_timeout = ${busyMs}`)
      // Other processes can read during a write, and a commit need not wait for the disk.
      database.exec('PRAGMA journal_mode = WAL')
      // On macOS, a plain flush may leave data in the drive's cache (sqlite.org/pragma.html#pragma_fullfsync).
      database.exec('PRAGMA fullfsync = ON')
      database.exec('BEGIN IMMEDIATE')
      this.#createTables()
      database.exec('COMMIT')
    } catch (error) {
      // Roll back first: some libraries end a transaction only when its statements are garbage-collected.
      this.rollback()
      this.close()
      throw error
    }
  }

  begin({ mode, durability = 'relaxed' }: TransactionOptions): void {
    this.#wrapErrors(() => {
      if (mode === 'write' && this.#durability !== durability) {
        // With a write-ahead log, a power failure under NORMAL loses only the last transactions.
        this.#database.exec(`PRAGMA synchronous = ${durability === 'strict' ? 'FULL' : 'NORMAL'}`)
        this.#durability = durability
      }
      this.#database.exec(mode === 'write' ? 'BEGIN IMMEDIATE' : 'BEGIN')
    })
  }

  commit(): void {
    this.#wrapErrors(() => this.#database.exec('COMMIT'))
  }

  /** Never throws: after some errors, SQLite has already rolled back. */
  rollback(): void {
    try {
      this.#database.exec('ROLLBACK')
    } catch {}
  }

  /** Never throws: a caller could do nothing about the error. */
  close(): void {
    try {
      this.#database.close()
    } catch {}
  }

  has(table: Table, key: string): boolean {
    return this.#queryOne(`SELECT 1 AS value FROM ${table} WHERE key = ?`, key) !== undefined
  }

  get(table: Table, key: string): StoreValue | undefined {
    const text = this.#queryOne(`SELECT value FROM ${table} WHERE key = ?`, key)
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

  #createTables(): void {
    const storedVersion = fieldOf(this.#statement('PRAGMA user_version').get(), 'user_version')
    if (storedVersion === version) return
    if (storedVersion !== 0) {
      const message =
        'The local database was made by another version of the application; use that version, or another folder.'
      throw new StorageError('unavailable', message)
    }
    for (const table of tables) {
      this.#database.exec(`CREATE TABLE ${table} (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL)`)
    }
    this.#database.exec(`PRAGMA user_version = ${version}`)
  }

  #queryOne(sql: string, key: string): unknown {
    const row = this.#wrapErrors(() => this.#statement(sql).get(key))
    return row ? fieldOf(row, 'value') : undefined
  }

  #column(column: 'key' | 'value', table: Table, { from = '', to = end, reverse, limit = -1 }: KeyRange) {
    const order = reverse ? 'DESC' : 'ASC'
    const sql = `SELECT ${column} FROM ${table} WHERE key >= ? AND key < ? ORDER BY key ${order} LIMIT ?`
    const rows = this.#wrapErrors(() => this.#statement(sql).all(from, to, limit))
    return (Array.isArray(rows) ? rows : []).map((row) => String(fieldOf(row, column)))
  }

  #run(sql: string, ...values: string[]): void {
    this.#wrapErrors(() => this.#statement(sql).run(...values))
  }

  #statement(sql: string): SqliteStatement {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #wrapErrors<T>(call: () => T): T {
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

/** Returns `value` as JSON, which keeps every string, including unpaired surrogates and NUL. */
function textOf(value: StoreValue): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new StorageError('aborted', 'The value to store is not JSON.')
  return text
}

function parse(text: unknown): StoreValue {
  try {
    return JSON.parse(String(text))
  } catch (cause) {
    throw new StorageError('unreadable', 'A value in the local database cannot be read.', { cause })
  }
}
