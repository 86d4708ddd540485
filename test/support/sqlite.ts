import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { onTestFinished } from 'vitest'
import { type SqliteDatabase, sqliteStore } from '../../src/sqlite/index.ts'
import type { Store } from '../../src/storage/store.ts'

/** Opens a database, as an application does. */
export const openSqlite = (path: string): SqliteDatabase => new Database(path)

/** A folder for the test that runs. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'instep-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A store in a folder for the test that runs. */
export function ownSqliteStore(folder = ownFolder()): Store {
  return sqliteStore({ folder, open: openSqlite })
}
