import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type SqliteDatabase, type SqliteStoreOptions, sqliteStore } from '../../src/sqlite/index.ts'
import type { Store, StoreTransaction, StoreValue } from '../../src/storage/store.ts'
import { openSqlite, ownFolder, ownSqliteStore } from '../support/sqlite.ts'

const name = 'instep:["https://api.example.com/sync/v1/bootstrap","ada"]'
const meta = { tables: ['meta'], mode: 'write' } as const

async function put(store: Store, value: StoreValue, key = 'a'): Promise<void> {
  const connection = await store.open(name)
  await connection
    .transaction(meta, (tx: StoreTransaction) => tx.put('meta', key, value))
    .finally(() => connection.close())
}

async function get(store: Store, key = 'a'): Promise<StoreValue | undefined> {
  const connection = await store.open(name)
  const value = await connection.transaction({ ...meta, mode: 'read' }, (tx) => tx.get('meta', key))
  connection.close()
  return value
}

/** What a pragma is set to. */
function settingOf(database: SqliteDatabase, pragma: string): unknown {
  return Reflect.get(Object(database.prepare(`PRAGMA ${pragma}`).get()), pragma)
}

/** The file of the one database in `folder`. */
function fileIn(folder: string): string {
  const [file = ''] = readdirSync(folder).filter((each) => each.endsWith('.sqlite'))
  return join(folder, file)
}

describe('the files', () => {
  test('are in a folder that is made, for its owner alone', async () => {
    const folder = join(ownFolder(), 'data', 'instep')
    await put(ownSqliteStore(folder), 1)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  test('are apart for names that differ in case alone, and tell no name', async () => {
    const folder = ownFolder()
    const store = ownSqliteStore(folder)
    for (const each of ['ada', 'Ada', `${'ada'.repeat(200)}`]) (await store.open(each)).close()
    const files = readdirSync(folder).filter((file) => file.endsWith('.sqlite'))
    expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(3)
    expect(files.join()).not.toMatch(/ada/i)
  })

  test('are gone when the database is destroyed, those beside it included', async () => {
    const folder = ownFolder()
    const store = ownSqliteStore(folder)
    const connection = await store.open(name)
    await connection.transaction(meta, (tx) => tx.put('meta', 'a', 1))
    expect(readdirSync(folder).length).toBeGreaterThan(1)
    await store.destroy(name)
    expect(readdirSync(folder)).toEqual([])
  })

  test('stay until what is under way is over', async () => {
    const store = ownSqliteStore()
    const connection = await store.open(name)
    const order: string[] = []
    const writing = connection.transaction(meta, async (tx) => {
      for (let turn = 0; turn < 10; turn += 1) await tx.get('meta', 'a')
      order.push('written')
    })
    await Promise.all([store.destroy(name).then(() => order.push('destroyed')), writing])
    expect(order).toEqual(['written', 'destroyed'])
  })

  test('are gone for a connection that was being opened, which is then refused', async () => {
    const folder = ownFolder()
    const store = ownSqliteStore(folder)
    const opening = store.open(name)
    const destroying = store.destroy(name)
    const connection = await opening
    const writing = connection.transaction(meta, (tx) => tx.put('meta', 'a', 1))
    await expect(writing).rejects.toMatchObject({ code: 'closed' })
    await destroying
    expect(readdirSync(folder)).toEqual([])
  })

  test('are made anew for a connection that is asked for while they are deleted', async () => {
    const store = ownSqliteStore()
    await put(store, 1)
    const [, connection] = await Promise.all([store.destroy(name), store.open(name)])
    await connection.transaction(meta, (tx) => tx.put('meta', 'b', 2))
    expect([await get(store), await get(store, 'b')]).toEqual([undefined, 2])
    connection.close()
  })

  test('that another process has deleted are written to no more', async () => {
    const folder = ownFolder()
    const store = ownSqliteStore(folder)
    const connection = await store.open(name)
    const codes: string[] = []
    connection.onLost(({ code }) => codes.push(code))
    for (const file of readdirSync(folder)) rmSync(join(folder, file))
    const writing = connection.transaction(meta, (tx) => tx.put('meta', 'a', 1))
    await expect(writing).rejects.toMatchObject({ code: 'closed', retryable: false })
    expect(codes).toEqual(['closed'])
    await put(store, 2)
    expect(await get(store)).toBe(2)
  })

  test('are one database for all stores of a process, which write one after another', async () => {
    const folder = ownFolder()
    const connections = await Promise.all([0, 1].map(() => ownSqliteStore(folder).open(name)))
    const increment = (connection: (typeof connections)[number]) =>
      connection.transaction(meta, async (tx) => {
        tx.put('meta', 'a', Number((await tx.get('meta', 'a')) ?? 0) + 1)
      })
    await Promise.all([...connections, ...connections].map(increment))
    expect(await get(ownSqliteStore(folder))).toBe(4)
    for (const connection of connections) connection.close()
  })
})

describe('what is committed', () => {
  test('is flushed to the disk where that is asked for, and not otherwise', async () => {
    const modes: unknown[] = []
    const open = (path: string): SqliteDatabase => {
      const database = openSqlite(path)
      const exec = (sql: string) => {
        database.exec(sql)
        if (sql === 'COMMIT') modes.push(settingOf(database, 'synchronous'), settingOf(database, 'fullfsync'))
      }
      return { exec, prepare: (sql) => database.prepare(sql), close: () => database.close() }
    }
    const connection = await sqliteStore({ folder: ownFolder(), open }).open(name)
    modes.length = 0
    for (const durability of ['relaxed', 'strict', 'relaxed', undefined] as const) {
      const options = { ...meta, ...(durability && { durability }) }
      await connection.transaction(options, (tx) => tx.put('meta', 'a', 1))
    }
    connection.close()
    // As SQLite numbers them: NORMAL is 1, FULL is 2.
    expect(modes).toEqual([1, 1, 2, 1, 1, 1, 1, 1])
  })
})

describe('options', () => {
  test.each<[string, object]>([
    ['folder', { open: openSqlite }],
    ['folder', { open: openSqlite, folder: '' }],
    ['open', { folder: 'data' }],
    ['path', { folder: 'data', open: openSqlite, path: 'data' }],
  ])('say that `%s` is missing or wrong', (option, options) => {
    expect(() => sqliteStore(options as SqliteStoreOptions)).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', option }),
    )
  })
})

describe('a file that does not open', () => {
  const opening = (folder: string) => ownSqliteStore(folder).open(name)

  test('says that it is damaged, and stays as it is', async () => {
    const folder = ownFolder()
    await put(ownSqliteStore(folder), 1)
    const file = fileIn(folder)
    for (const ending of ['-wal', '-shm']) rmSync(file + ending, { force: true })
    writeFileSync(file, 'no database at all, '.repeat(1_000))
    await expect(opening(folder)).rejects.toMatchObject({
      name: 'StorageError',
      code: 'unavailable',
      message: expect.stringContaining(`move ${file} away`),
    })
    expect(statSync(file).size).toBe(20_000)
  })

  test('says that another version made it', async () => {
    const folder = ownFolder()
    await put(ownSqliteStore(folder), 1)
    const database = openSqlite(fileIn(folder))
    database.exec('PRAGMA user_version = 2')
    database.close()
    const message = expect.stringContaining('another version')
    await expect(opening(folder)).rejects.toMatchObject({ code: 'unavailable', message })
    // That other version is not kept from it.
    const other = openSqlite(fileIn(folder))
    other.exec('PRAGMA busy_timeout = 0')
    other.exec('BEGIN IMMEDIATE')
    other.close()
  })

  test('says what the folder lacks', async () => {
    const folder = join(ownFolder(), 'file')
    writeFileSync(folder, '')
    const message = expect.stringContaining('EEXIST')
    await expect(opening(folder)).rejects.toMatchObject({ code: 'unavailable', message })
  })
})
