import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { lockFolder } from '../../src/server/log/sql/folder-lock.ts'
import { listenIn } from '../../src/server/log/sql/folder-socket.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert } from '../server/harness.ts'
import { runChild } from '../support/child.ts'
import { asService, idsOf } from './judge.ts'

const { clock } = resolveEnvironment()
let root = ''
/** The history of the databases that tests begin with, which hold the record `1`. */
let history = ''
let folder = ''

/** To make a database takes seconds, so each test begins with a copy: of one that was closed, or was open. */
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'instep-folders-'))
  const log = await openSqlLog(join(root, 'open'))
  await log.write([insert('1')], asService)
  history = (await log.position()).history
  // What a process leaves that is killed now.
  cpSync(join(root, 'open'), join(root, 'left'), {
    recursive: true,
    filter: (path) => !path.endsWith('.socket'),
  })
  await log.close()
  renameSync(join(root, 'open'), join(root, 'closed'))
}, 120_000)

afterAll(() => rmSync(root, { recursive: true, force: true }))

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'instep-folder-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const begin = (state: 'closed' | 'left') => cpSync(join(root, state), folder, { recursive: true })

async function historyNow(): Promise<string> {
  const log = await openSqlLog(folder)
  const { history } = await log.position()
  await log.close()
  return history
}

test('invariant 58: a second process on a folder fails at once and says why, and takes over after the first is killed', async () => {
  begin('closed')
  const first = await runChild('test/server-sql/holder.ts', [folder])
  onTestFinished(first.kill)
  expect(await first.next()).toEqual({ ready: true })
  await expect(openSqlLog(folder)).rejects.toMatchObject({
    name: 'ConfigurationError',
    message: expect.stringMatching(
      /^The folder .+ is in use by another process; stop that process, or .+\.$/,
    ),
  })
  await first.kill()
  expect(await historyNow()).toBe(history)
  expect(readdirSync(folder).sort()).toEqual(['complete', 'pgdata'])
}, 120_000)

test('a folder keeps its content and its history until `newEpoch`', async () => {
  begin('closed')
  const log = await openSqlLog(folder)
  expect(await log.position()).toEqual({ history, head: 1, horizon: 0 })
  await log.newEpoch()
  expect((await log.position()).history).not.toBe(history)
  await log.close()
}, 120_000)

describe('a folder that was not closed', () => {
  test.runIf(existsSync('/proc/sys/kernel/random/boot_id'))(
    'keeps its history if only the process was killed',
    async () => {
      begin('left')
      expect(await historyNow()).toBe(history)
    },
    120_000,
  )

  test.each([
    ['the machine was started again', () => writeFileSync(join(folder, 'boot'), 'another start')],
    ['the system does not say whether the machine was', () => rmSync(join(folder, 'boot'))],
  ])(
    'invariant 11: starts one new history if %s',
    async (_, restart) => {
      begin('left')
      // As a power cut may leave it.
      writeFileSync(join(folder, 'pgdata', 'postmaster.pid'), '')
      restart()
      const after = await historyNow()
      expect(after).not.toBe(history)
      expect(await historyNow()).toBe(after)
    },
    120_000,
  )
})

test('a folder whose disk fails to flush answers no more, and is complete when it is opened again', async () => {
  begin('closed')
  const log = await openSqlLog(folder)
  const { fsyncSync } = fs
  fs.fsyncSync = () => {
    throw Object.assign(new Error('broken'), { code: 'EIO' })
  }
  syncBuiltinESMExports()
  try {
    await expect(log.write([insert('2')], asService)).rejects.toMatchObject({
      retryable: true,
      code: 'stopped',
    })
  } finally {
    fs.fsyncSync = fsyncSync
    syncBuiltinESMExports()
  }
  await expect(log.write([insert('3')], asService)).rejects.toMatchObject({
    retryable: true,
    code: 'stopped',
  })
  await expect(log.position()).rejects.toThrow('check the disk of its folder, then restart the service')
  await log.close()
  const again = await openSqlLog(folder)
  expect(await idsOf(again)).toContain('1')
  expect(await idsOf(again)).not.toContain('3')
  await again.close()
}, 120_000)

test('a folder that was never completed is created again, and each has its own history', async () => {
  begin('closed')
  renameSync(join(folder, 'complete'), join(folder, 'begun'))
  rmSync(join(folder, 'pgdata', 'global'), { recursive: true })
  expect(await historyNow()).not.toBe(history)
  expect(readdirSync(folder).sort()).toEqual(['complete', 'pgdata'])
}, 120_000)

test('files of others in the place of a database are refused, and not changed', async () => {
  const file = join(folder, 'pgdata', 'base', '1')
  mkdirSync(join(folder, 'pgdata', 'base'), { recursive: true })
  writeFileSync(file, 'important')
  for (let time = 0; time < 2; time += 1) {
    await expect(openSqlLog(folder)).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringMatching(
        /has a `pgdata` without the file `complete`, .+; use another folder, .+\.$/,
      ),
    })
    expect(readFileSync(file, 'utf8')).toBe('important')
  }
  expect(readdirSync(folder)).toEqual(['pgdata'])
}, 120_000)

test('a backup without its mark is complete again once it has the mark', async () => {
  begin('closed')
  rmSync(join(folder, 'complete'))
  await expect(openSqlLog(folder)).rejects.toThrow('put `complete` beside it')
  writeFileSync(join(folder, 'complete'), '')
  const log = await openSqlLog(folder)
  expect(await idsOf(log)).toEqual(['1'])
  await log.close()
}, 120_000)

describe('the lock of a folder', () => {
  const lock = () => lockFolder(folder, clock)

  /** Starts a process that listens in the folder, as if it had it, and then does `work`. */
  const listener = async (work: string) => {
    const path = JSON.stringify(join(folder, 'lock-1-other.socket'))
    const code = `require('net').createServer().listen(${path}, () => { console.log('ready'); ${work} })`
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    return async () => {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
  }

  test('belongs to a process until it is released', async () => {
    const unlock = await lock()
    await expect(lock()).rejects.toThrow('in use by another process')
    unlock()
    unlock()
    expect(readdirSync(folder)).toEqual([])
    ;(await lock())()
  })

  test('invariant 58: is taken over from a process that was killed', async () => {
    const kill = await listener('')
    await expect(lock()).rejects.toThrow('in use')
    await kill()
    expect(readdirSync(folder)).toHaveLength(1)
    ;(await lock())()
    expect(readdirSync(folder)).toEqual([])
  })

  test('invariant 58: is not taken over from a process that is too busy to answer', async () => {
    const kill = await listener('for (;;);')
    await expect(lock()).rejects.toThrow('in use')
    await kill()
  })

  test('belongs to one process if several take it at once', async () => {
    const results = await Promise.allSettled([lock(), lock(), lock()])
    const unlocks = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(unlocks).toHaveLength(1)
    for (const unlock of unlocks) unlock()
  })

  test('is left to a process that is about to take it', async () => {
    const close = await listenIn(folder, '0')
    await expect(lock()).rejects.toThrow('in use')
    close()
    ;(await lock())()
  })

  test('is waited for while a later process gives up', async () => {
    const close = await listenIn(folder, 'z')
    let isLocked = false
    const locked = lock().then((unlock) => {
      isLocked = true
      return unlock
    })
    await new Promise<void>((resolve) => clock.after(100, resolve))
    expect(isLocked).toBe(false)
    close()
    ;(await locked)()
  })

  test('is left to a process whose clock is ahead', async () => {
    const close = await listenIn(folder, 'z')
    const quick = { ...clock, after: (_: number, callback: () => void) => clock.after(0, callback) }
    await expect(lockFolder(folder, quick)).rejects.toThrow('in use')
    close()
  })

  test('works in a folder whose path is longer than a socket address', async () => {
    const long = join(folder, 'x'.repeat(200))
    const unlock = await lockFolder(long, clock)
    await expect(lockFolder(long, clock)).rejects.toThrow('in use')
    expect(readdirSync(long)).toEqual([expect.stringMatching(/^lock-.+\.socket$/)])
    unlock()
    expect(readdirSync(long)).toEqual([])
  })

  test.runIf(process.platform === 'linux')('is refused on a disk without sockets', async () => {
    await expect(lockFolder('/proc', clock)).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringMatching(/^The folder \/proc cannot be guarded against a second process .+\.$/),
    })
  })
})
