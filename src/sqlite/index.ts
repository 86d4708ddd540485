export type { SqliteDatabase, SqliteStatement } from './sqlite.ts'
export { type SqliteStoreOptions, sqliteStore } from './sqlite-store.ts'
