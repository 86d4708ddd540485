/**
 * The part of an SQLite library that the store uses. `DatabaseSync` of `node:sqlite`, `better-sqlite3`, `libsql` and
 * `Database` of `bun:sqlite` have it.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

/** A prepared statement. Rows are objects with a field for each column. */
export interface SqliteStatement {
  run(...values: (string | number)[]): unknown
  get(...values: (string | number)[]): unknown
  all(...values: (string | number)[]): unknown
}
