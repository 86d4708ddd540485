import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type SqliteDatabase, sqliteStore } from '../../src/sqlite/index.ts'
import { openSqlite, ownFolder, ownSqliteStore } from '../support/sqlite.ts'

const meta = { tables: ['meta'], mode: 'write' } as const
const text = 'x'.repeat(10_000)

test('a disk without room refuses a write as `quota`, takes all of it back, and goes on with room', async () => {
  const opened: SqliteDatabase[] = []
  const open = (path: string) => {
    const database = openSqlite(path)
    opened.push(database)
    return database
  }
  const connection = await sqliteStore({ folder: ownFolder(), open }).open('db')
  opened[0]?.exec('PRAGMA max_page_count = 20')
  const writing = () =>
    connection.transaction(meta, (tx) => {
      for (let n = 0; n < 10; n += 1) tx.put('meta', `${n}`, text)
    })
  await expect(writing()).rejects.toMatchObject({ name: 'StorageError', code: 'quota' })
  expect(await connection.transaction({ ...meta, mode: 'read' }, (tx) => tx.keys('meta'))).toEqual([])
  opened[0]?.exec('PRAGMA max_page_count = 2000')
  await writing()
  expect(await connection.transaction({ ...meta, mode: 'read' }, (tx) => tx.keys('meta'))).toHaveLength(10)
  connection.close()
})

test('between the reads of a write transaction and its writes, no other process writes', async () => {
  let path = ''
  const open = (at: string) => {
    path = at
    return openSqlite(at)
  }
  const connection = await sqliteStore({ folder: ownFolder(), open }).open('db')
  const other = openSqlite(path)
  other.exec('PRAGMA busy_timeout = 0')
  const insert = () => other.exec(`INSERT INTO meta VALUES ('a', '1')`)
  await connection.transaction(meta, async (tx) => {
    const before = await tx.get('meta', 'a')
    expect(insert).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }))
    tx.put('meta', 'a', before ?? 2)
  })
  other.close()
  expect(await connection.transaction({ ...meta, mode: 'read' }, (tx) => tx.get('meta', 'a'))).toBe(2)
  connection.close()
})

test('a file that another process writes to is waited for, and then given up for now', async () => {
  const folder = ownFolder()
  let path = ''
  let database: SqliteDatabase | undefined
  const open = (at: string) => {
    path = at
    database = openSqlite(at)
    return database
  }
  const connection = await sqliteStore({ folder, open }).open('db')
  expect(database?.prepare('PRAGMA busy_timeout').get()).toMatchObject({ timeout: 2_000 })
  const other = openSqlite(path)
  other.exec('BEGIN IMMEDIATE')
  const put = () => connection.transaction(meta, (tx) => tx.put('meta', 'a', 1))
  await expect(put()).rejects.toMatchObject({ code: 'timeout', retryable: true })
  await expect(ownSqliteStore(folder).open('db')).rejects.toMatchObject({ code: 'blocked', retryable: true })
  other.exec('ROLLBACK')
  other.close()
  await put()
  connection.close()
})

test('a value that something else wrote over is `unreadable`, and the others are not', async () => {
  const folder = ownFolder()
  const opened: SqliteDatabase[] = []
  const open = (path: string) => {
    const database = openSqlite(path)
    opened.push(database)
    return database
  }
  const connection = await sqliteStore({ folder, open }).open('db')
  await connection.transaction(meta, (tx) => {
    tx.put('meta', 'a', { n: 1 })
    tx.put('meta', 'b', { n: 2 })
  })
  opened[0]?.exec(`UPDATE meta SET value = '{"n":' WHERE key = 'a'`)
  const get = (key: string) => connection.transaction({ ...meta, mode: 'read' }, (tx) => tx.get('meta', key))
  await expect(get('a')).rejects.toMatchObject({ name: 'StorageError', code: 'unreadable' })
  expect(await get('b')).toEqual({ n: 2 })
  connection.close()
})

test.each([
  ['quota', { code: 'SQLITE_FULL' }],
  ['quota', { code: 'ERR_SQLITE_ERROR', errcode: 13 }],
  ['timeout', { code: 'SQLITE_BUSY_SNAPSHOT' }],
  ['timeout', { code: 'ERR_SQLITE_ERROR', errcode: 517 }],
  ['unreadable', { code: 'SQLITE_CORRUPT_VTAB' }],
  ['unreadable', { code: 'ERR_SQLITE_ERROR', errcode: 26 }],
  ['aborted', { code: 'SQLITE_IOERR_WRITE' }],
  ['aborted', { code: 'ERR_SQLITE_ERROR', errcode: 1 }],
  ['aborted', {}],
] as const)('is `%s` where a library says %o', async (code, fields) => {
  let fails = false
  const open = (path: string): SqliteDatabase => {
    const database = openSqlite(path)
    const exec = (sql: string) => {
      if (fails && sql === 'COMMIT') throw Object.assign(new Error('as a library says it'), fields)
      return database.exec(sql)
    }
    return { exec, prepare: (sql) => database.prepare(sql), close: () => database.close() }
  }
  const connection = await sqliteStore({ folder: ownFolder(), open }).open('db')
  const put = () => connection.transaction(meta, (tx) => tx.put('meta', 'a', 1))
  fails = true
  const message = expect.stringContaining('as a library says it')
  await expect(put()).rejects.toMatchObject({ name: 'StorageError', code, message })
  fails = false
  await put()
  connection.close()
})

test('a library that cannot open the file has said why', async () => {
  const folder = ownFolder()
  const open = (path: string) => {
    writeFileSync(path, '')
    throw Object.assign(new Error('unable to open database file'), { code: 'SQLITE_CANTOPEN' })
  }
  const message = expect.stringContaining('unable to open database file')
  await expect(sqliteStore({ folder, open }).open('db')).rejects.toMatchObject({
    code: 'unavailable',
    message,
  })
})

test('a file that does not open says why, also where it does not close', async () => {
  const open = (path: string): SqliteDatabase => {
    const database = openSqlite(path)
    const exec = () => {
      throw new Error('file is encrypted')
    }
    const close = () => {
      database.close()
      throw new Error('unable to close')
    }
    return { exec, prepare: (sql) => database.prepare(sql), close }
  }
  const message = expect.stringContaining('file is encrypted')
  await expect(sqliteStore({ folder: ownFolder(), open }).open('db')).rejects.toMatchObject({
    code: 'unavailable',
    message,
  })
})
