import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, {
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
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { lockFolder } from '../../src/server/log/sql/folder-lock.ts'
import { listenIn } from '../../src/server/log/sql/folder-socket.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert } from '../server/harness.ts'
import { type Child, runChild } from '../support/child.ts'
import { asService, eventually, idsOf } from './judge.ts'

interface Said {
  readonly ready?: boolean
  readonly error?: string
  readonly id?: string
}

const { clock } = resolveEnvironment()
let folder = ''
let children: Child<Said>[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'instep-folder-'))
})

afterEach(async () => {
  for (const child of children) await child.kill()
  children = []
  rmSync(folder, { recursive: true, force: true })
})

async function hold(...args: readonly string[]): Promise<Child<Said>> {
  const child = await runChild<Said>('test/server-sql/holder.ts', [folder, ...args])
  children.push(child)
  return child
}

test('invariant 58: a second process on a folder fails at once and says why; after the first is killed it takes over', async () => {
  const first = await hold()
  expect(await first.next()).toEqual({ ready: true })
  const second = await hold()
  const { error } = await second.next()
  expect(error).toMatch(
    /^The folder .+ is in use by the process \d+ on .+; if that process no longer runs, delete .+\.$/,
  )
  await expect(openSqlLog(folder)).rejects.toMatchObject({ name: 'ConfigurationError', message: error })
  await first.kill()
  const third = await openSqlLog(folder)
  expect(await third.position()).toMatchObject({ head: 0 })
  await third.close()
  expect(existsSync(join(folder, 'lock'))).toBe(false)
}, 120_000)

test('kill -9 loses nothing that was answered', async () => {
  const answered: string[] = []
  for (const life of ['a', 'b', 'c']) {
    const child = await hold(life)
    expect(await child.next()).toEqual({ ready: true })
    for (let count = 0; count < 40; count += 1) {
      const { id } = await child.next()
      if (id !== undefined) answered.push(id)
    }
    await child.kill()
  }
  const log = await openSqlLog(folder)
  const ids = await idsOf(log)
  expect(answered).toHaveLength(120)
  expect(answered.filter((id) => !ids.includes(id))).toEqual([])
  expect((await log.position()).head).toBe(ids.length)
  await log.close()
}, 120_000)

test('a folder keeps its content and its history, until it is given a new one', async () => {
  const first = await openSqlLog(folder)
  const { history } = await first.position()
  await first.write([insert('1')], asService)
  await first.close()
  const second = await openSqlLog(folder)
  expect(await second.position()).toEqual({ history, head: 1, horizon: 0 })
  await second.newEpoch()
  expect((await second.position()).history).not.toBe(history)
  await second.close()
}, 120_000)

describe('a folder that was not closed', () => {
  /** Ends a process that has written, at once. */
  const kill = async () => {
    const log = await openSqlLog(folder)
    const { history } = await log.position()
    await log.close()
    const child = await hold('a')
    for (let said = await child.next(); said.id !== 'a-1'; ) said = await child.next()
    await child.kill()
    return history
  }
  const historyNow = async () => {
    const log = await openSqlLog(folder)
    const { history } = await log.position()
    await log.close()
    return history
  }

  test.runIf(existsSync('/proc/sys/kernel/random/boot_id'))(
    'keeps its history when only the process was killed',
    async () => {
      const before = await kill()
      expect(await historyNow()).toBe(before)
    },
    120_000,
  )

  test.each([
    ['the machine was started again', () => writeFileSync(join(folder, 'boot'), 'another start')],
    ['nothing says whether the machine was', () => rmSync(join(folder, 'boot'))],
  ])(
    'invariant 11: begins one new history when %s',
    async (_, restart) => {
      const before = await kill()
      restart()
      const after = await historyNow()
      expect(after).not.toBe(before)
      expect(await historyNow()).toBe(after)
    },
    120_000,
  )
})

test('a folder whose disk takes no flush answers nothing more, and is whole when it is opened again', async () => {
  const log = await openSqlLog(folder)
  await log.write([insert('1')], asService)
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

test('a folder that was never finished is made anew, and each has a history of its own', async () => {
  const first = await openSqlLog(folder)
  const { history } = await first.position()
  await first.close()
  renameSync(join(folder, 'complete'), join(folder, 'begun'))
  rmSync(join(folder, 'pgdata', 'global'), { recursive: true })
  const second = await openSqlLog(folder)
  expect((await second.position()).history).not.toBe(history)
  await second.close()
  expect(readdirSync(folder).sort()).toEqual(['complete', 'pgdata'])
}, 120_000)

test('files of somebody else in the place of a database are refused, and left as they are', async () => {
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

test('a backup that lost its mark is whole again once it has it', async () => {
  const first = await openSqlLog(folder)
  await first.write([insert('1')], asService)
  await first.close()
  rmSync(join(folder, 'complete'))
  await expect(openSqlLog(folder)).rejects.toThrow('put `complete` beside it')
  writeFileSync(join(folder, 'complete'), '')
  const second = await openSqlLog(folder)
  expect(await idsOf(second)).toEqual(['1'])
  await second.close()
}, 120_000)

describe('the lock of a folder', () => {
  const lock = () => lockFolder(folder, clock)
  const path = () => join(folder, 'lock')
  const change = (changes: object) => {
    const holder = JSON.parse(readFileSync(path(), 'utf8'))
    writeFileSync(path(), JSON.stringify({ ...holder, ...changes }))
  }
  /** Leaves the lock of this process behind, as one that does not listen, but for what `changes` says. */
  const leave = async (changes: object) => {
    const unlock = await lock()
    const own = readFileSync(path(), 'utf8')
    unlock()
    writeFileSync(path(), own)
    change({ lock: 'left', disk: undefined, ...changes })
  }

  test('is this process’s until it is given back', async () => {
    const unlock = await lock()
    await expect(lock()).rejects.toThrow('in use')
    unlock()
    unlock()
    expect(readdirSync(folder)).toEqual([])
    ;(await lock())()
  })

  test.each([
    ['has ended', { pid: 2 ** 22 + 1 }],
    ['had this pid before', { started: '1' }],
    ['ran before the machine started', { pid: 1, boot: 'another' }],
  ])('invariant 58: is taken over from a process that %s', async (_, changes) => {
    await leave(changes)
    const unlock = await lock()
    await expect(lock()).rejects.toThrow(`in use by the process ${process.pid} on ${hostname()}`)
    unlock()
  })

  test.runIf(existsSync('/proc/self/stat'))(
    'invariant 58: is taken over from a process whose parent never asks what became of it',
    async () => {
      // The second `sleep` takes the place of the shell, and knows nothing of the child, which is to end only then.
      const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'])
      const [said] = await once(parent.stdout, 'data')
      const pid = Number(said)
      await eventually(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n')
      process.kill(pid)
      const stat = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')
      await eventually(() => stat()[2] === 'Z')
      await leave({ pid, started: stat()[21] })
      ;(await lock())()
      parent.kill()
    },
  )

  test('invariant 58: is not taken over from another host, whatever runs here', async () => {
    await leave({ host: 'another.host', pid: 2 ** 22 + 1, boot: 'another' })
    await expect(lock()).rejects.toThrow('on another.host')
  })

  test('is one’s alone where several take it over at once', async () => {
    await leave({ pid: 2 ** 22 + 1 })
    const results = await Promise.allSettled([lock(), lock(), lock()])
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('is left to whoever has it since', async () => {
    const unlock = await lock()
    change({ lock: 'other', host: 'another.host', boot: 'another' })
    unlock()
    await expect(lock()).rejects.toThrow('on another.host')
  })

  describe.runIf(process.platform === 'linux')('where processes can listen in it', () => {
    test.each([
      ['a pid that is none here', { pid: 2 ** 22 + 1 }],
      ['the pid of another here', { pid: 1 }],
      ['a name of its own for the system', { boot: 'another' }],
    ])('invariant 58: is not taken over from a container with %s', async (_, changes) => {
      const unlock = await lock()
      change(changes)
      await expect(lock()).rejects.toThrow(/in use by the process \d+ on/)
      unlock()
    })

    test('invariant 58: is taken over from a process that was killed in a container with another host name', async () => {
      const child = await hold()
      expect(await child.next()).toEqual({ ready: true })
      change({ host: 'another.host', pid: 1 })
      await expect(lock()).rejects.toThrow('in use by the process 1 on another.host')
      await child.kill()
      ;(await lock())()
      expect(readdirSync(folder).sort()).toEqual(['boot', 'complete', 'pgdata'])
    }, 120_000)

    test('is not taken over on a disk that may be another’s', async () => {
      await leave({ host: 'another.host', disk: -1 })
      await expect(lock()).rejects.toThrow('on another.host')
    })

    test('is its holder’s even where somebody has deleted it', async () => {
      const unlock = await lock()
      rmSync(path())
      await expect(lock()).rejects.toThrow('in use by another process')
      unlock()
      ;(await lock())()
    })

    test('is left to whoever is about to take it', async () => {
      await leave({ pid: 2 ** 22 + 1 })
      // Lower than any other id.
      const first = await listenIn(folder, '0')
      await expect(lock()).rejects.toThrow('in use by another process')
      first?.close()
      ;(await lock())()
    })

    test('is waited for while another that came behind gives up', async () => {
      const second = await listenIn(folder, 'z')
      const locked = lock()
      await new Promise<void>((resolve) => clock.after(100, resolve))
      expect(existsSync(path())).toBe(false)
      second?.close()
      ;(await locked)()
    })

    test('keeps the folder while it runs, also where somebody has deleted its socket', async () => {
      const unlock = await lock()
      for (const name of readdirSync(folder)) if (name.endsWith('.socket')) rmSync(join(folder, name))
      await expect(lock()).rejects.toThrow(/is in use by the process/)
      unlock()
      ;(await lock())()
    })

    test('is known in a folder with a name longer than the address of a socket', async () => {
      const long = join(folder, 'x'.repeat(200))
      const unlock = await lockFolder(long, clock)
      expect(readdirSync(long)).toEqual(['lock', expect.stringMatching(/^lock-.+\.socket$/)])
      unlock()
      expect(readdirSync(long)).toEqual([])
    })
  })

  test('is gone from a file that is no lock', async () => {
    writeFileSync(join(folder, 'lock'), 'nonsense')
    ;(await lock())()
  })
})
