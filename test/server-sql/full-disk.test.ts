import { randomBytes } from 'node:crypto'
import fs, { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openSqlLog, type SqlLog } from '../../src/server/index.ts'
import { insert } from '../server/harness.ts'
import { asService, idsOf } from './judge.ts'

/* A folder on a disk that is full. */

const { writeSync, promises } = fs
const { writeFile } = promises

/** From now on, no file grows whose path matches. */
function fillFor(paths: RegExp): void {
  const full = () => Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  Object.assign(fs, {
    writeSync(file: number, bytes: Uint8Array, offset: number, length: number, position: number) {
      const grows = position + length > fs.fstatSync(file).size
      if (grows && paths.test(fs.readlinkSync(`/proc/self/fd/${file}`))) throw full()
      return writeSync(file, bytes, offset, length, position)
    },
  })
  promises.writeFile = async (file, ...rest) => {
    if (paths.test(String(file))) throw full()
    return writeFile(file, ...rest)
  }
  syncBuiltinESMExports()
}

function makeRoom(): void {
  Object.assign(fs, { writeSync })
  Object.assign(promises, { writeFile })
  syncBuiltinESMExports()
}

describe.runIf(process.platform === 'linux')('a folder on a full disk', () => {
  let folder = ''
  let log: SqlLog
  const written: string[] = []

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'instep-full-'))
    log = await openSqlLog(folder)
    await log.claim('userId')
  }, 120_000)

  afterEach(makeRoom)

  afterAll(async () => {
    await log.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const segments = () => readdirSync(join(folder, 'pgdata', 'pg_wal')).filter((name) => name.length === 24)
  const write = async () => {
    const id = String(written.length)
    await log.write([insert(id, { text: randomBytes(15_000).toString('base64') })], asService)
    written.push(id)
  }
  /** Makes changes of 4 MB in all, which need room in the log of the database alone. */
  const change = () =>
    log.sql((query) => query("select pg_logical_emit_message(true, '', repeat('x', 4000000))"))
  const untilRefused = async (work: () => Promise<unknown>) => {
    for (let times = 0; times < 400; times += 1) {
      const error = await work().catch((refused: unknown) => refused)
      if (error instanceof Error) return error
    }
    throw new Error('Nothing was refused.')
  }

  test('refuses writes for now, and serves reads and the first snapshot', async () => {
    await write()
    fillFor(/pgdata/)
    expect(await untilRefused(write)).toMatchObject({ name: 'NetworkError', retryable: true })
    expect(log.faults?.()).toEqual([{ kind: 'full' }])
    expect((await idsOf(log)).toSorted()).toEqual(written.toSorted())
    expect((await log.position()).head).toBe(written.length)
  }, 60_000)

  test('takes writes again once there is room', async () => {
    await write()
    expect(log.faults?.()).toEqual([])
    expect((await idsOf(log)).toSorted()).toEqual(written.toSorted())
  })

  test('does not stop, even if only the log of the database has no room', async () => {
    fillFor(/pg_wal/)
    expect(await untilRefused(change)).toMatchObject({ name: 'NetworkError', code: 'unreachable' })
    await expect(write()).rejects.toMatchObject({ retryable: true })
    expect((await log.position()).head).toBe(written.length)
    makeRoom()
    await write()
    expect((await idsOf(log)).toSorted()).toEqual(written.toSorted())
  }, 60_000)

  test('does not fill up with what the database no longer needs', async () => {
    for (let times = 0; times < 60; times += 1) await change()
    expect(segments().length).toBeLessThan(12)
  }, 60_000)

  test('has everything that was confirmed, when it is opened again', async () => {
    await log.close()
    log = await openSqlLog(folder)
    expect((await idsOf(log)).toSorted()).toEqual(written.toSorted())
  }, 60_000)
})
