import { existsSync, lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Spool } from '../../src/server/log/sql/spool.ts'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'instep-spool-'))
  vi.stubEnv('TMPDIR', folder)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

/** A spool of `batches`, which ends behind them. */
function spoolOf(batches: readonly string[]): Spool {
  const left = [...batches]
  return new Spool({ next: async () => left.shift() ?? '', close: async () => {}, holdsConnection: true })
}

/** How many files in the folder this process has open. */
const openFiles = () => {
  const fds = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`)
  // That of the list itself is gone.
  const open = fds.filter((fd) => lstatSync(fd, { throwIfNoEntry: false }))
  return open.filter((fd) => readlinkSync(fd).startsWith(folder)).length
}

test('a copy can be read, and has no name in the file system', async () => {
  const spool = spoolOf(['é', 'two'])
  await spool.copied
  expect(readdirSync(folder)).toEqual([])
  expect([await spool.next(), await spool.next(), await spool.next()]).toEqual(['é', 'two', ''])
})

test.runIf(existsSync('/proc/self/fd'))('its space is free once it was read or dropped', async () => {
  for (const reads of [3, 1]) {
    const spool = spoolOf(['one', 'two'])
    await spool.copied
    expect(openFiles()).toBe(1)
    for (let read = 0; read < reads; read += 1) await spool.next()
    if (reads === 1) await spool.close()
    expect(openFiles()).toBe(0)
  }
})
