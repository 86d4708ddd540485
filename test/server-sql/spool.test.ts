import { existsSync, lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SpoolFile } from '../../src/server/log/sql/spool.ts'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'instep-spool-'))
  vi.stubEnv('TMPDIR', folder)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

/** A copy of `batches`, which ends after them, and a reader of it. */
function spoolOf(batches: readonly string[]) {
  const left = [...batches]
  const file = new SpoolFile({
    next: async () => left.shift() ?? '',
    close: async () => {},
    holdsConnection: true,
  })
  return { file, copied: file.copied, spool: file.read() }
}

/** How many files in the folder this process has open. */
const openFiles = () => {
  const fds = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`)
  // That of the list itself is gone.
  const open = fds.filter((fd) => lstatSync(fd, { throwIfNoEntry: false }))
  return open.filter((fd) => readlinkSync(fd).startsWith(folder)).length
}

test('a copy can be read, and has no name in the file system', async () => {
  const { copied, spool } = spoolOf(['é', 'two'])
  await copied
  expect(readdirSync(folder)).toEqual([])
  expect([await spool.next(), await spool.next(), await spool.next()]).toEqual(['é', 'two', ''])
})

test.runIf(existsSync('/proc/self/fd'))('its space is free once it was read or dropped', async () => {
  for (const reads of [3, 1]) {
    const { copied, spool } = spoolOf(['one', 'two'])
    await copied
    expect(openFiles()).toBe(1)
    for (let read = 0; read < reads; read += 1) await spool.next()
    if (reads === 1) await spool.close()
    expect(openFiles()).toBe(0)
  }
})

test('several readers read the same copy, which is open until the last of them ends', async () => {
  const { file, spool } = spoolOf(['one', 'two'])
  const other = file.read()
  const read = async (from: typeof spool) => [await from.next(), await from.next(), await from.next()]
  expect(await read(spool)).toEqual(['one', 'two', ''])
  expect(file.isOpen).toBe(true)
  expect(await read(other)).toEqual(['one', 'two', ''])
  expect(file.isOpen).toBe(false)
})
