import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { kill, pid } from 'node:process'
import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Clock } from '../../../base/environment.ts'
import { ConfigurationError, codeOf } from '../../../base/errors.ts'
import { listenersIn, listenIn, socketOf } from './folder-socket.ts'

/**
 * How long a takeover waits before it checks whether another process has replaced the lock, in ms. This is longer than
 * another takeover takes.
 */
const takeoverMs = 100

/** How often, in ms, and how many times to look for other processes that want the folder. */
const lookMs = 20
const maxLooks = 50

/** The process that has a folder. A pid can be reused, but not together with the start time of its process. */
interface Holder {
  readonly pid: number
  readonly started: string
  readonly boot: string
  readonly host: string
  readonly lock: string
  /**
   * The device id of the disk on which the process listens, if it listens. If its socket is missing on that disk, the
   * process has ended.
   */
  readonly disk?: number | undefined
}

/**
 * Locks `folder` for this process until the returned function is called. Creates the folder if necessary. Takes over
 * the lock of a process that has ended. Rejects with a ConfigurationError if a running process, including this one, has
 * the folder.
 */
export async function lockFolder(folder: string, clock: Clock): Promise<Unsubscribe> {
  makeFolder(folder)
  const lock = randomUUID()
  const socket = await listenIn(folder, lock)
  try {
    await waitUntilAlone(folder, lock, clock)
    const unlock = await takeLock(folder, lock, socket?.disk, clock)
    return () => {
      unlock()
      socket?.close()
    }
  } catch (error) {
    socket?.close()
    throw error
  }
}

/**
 * Waits until no other process listens in the folder. Each process listens before it looks, so of two processes, at
 * least one sees the other. If several processes start at once, the one with the lowest id waits until the others give
 * up.
 */
async function waitUntilAlone(folder: string, ownId: string, clock: Clock): Promise<void> {
  const path = lockOf(folder)
  for (let look = 1; ; look += 1) {
    const others = (await listenersIn(folder)).filter((id) => id !== ownId)
    if (others.length === 0) return
    const holder = readHolder(path)
    if (holder && others.includes(holder.lock)) throw inUse(folder, path, holder)
    if (look === maxLooks || others.some((id) => id < ownId)) throw inUse(folder, path, undefined)
    await new Promise<void>((resolve) => clock.after(lookMs, resolve))
  }
}

/**
 * Takes the lock, unless it belongs to a running process that does not listen here: on a disk without sockets, or on
 * another machine.
 */
async function takeLock(
  folder: string,
  lock: string,
  disk: number | undefined,
  clock: Clock,
): Promise<Unsubscribe> {
  const path = lockOf(folder)
  const self: Holder = { pid, started: startOf(pid) ?? '', boot: bootId(), host: hostname(), lock, disk }
  const draft = `${path}-${lock}`
  const isOwn = () => readHolder(path)?.lock === lock
  // The lock file appears with its full content, so nobody reads half of it.
  writeFileSync(draft, JSON.stringify(self))
  try {
    if (!linked(draft, path)) {
      const holder = readHolder(path)
      if (holder && !isGone(holder, disk)) throw inUse(folder, path, holder)
      renameSync(draft, path)
      if (holder) rmSync(socketOf(folder, holder.lock), { force: true })
      // Another process may have replaced this lock, after also finding the old one abandoned. The last to replace it
      // has the folder.
      await new Promise<void>((resolve) => clock.after(takeoverMs, resolve))
      if (!isOwn()) throw inUse(folder, path, readHolder(path))
    }
  } finally {
    rmSync(draft, { force: true })
  }
  return () => {
    if (isOwn()) rmSync(path, { force: true })
  }
}

function lockOf(folder: string): string {
  return join(folder, 'lock')
}

/**
 * Creates `path` and its parents. The `recursive` option of Node never returns for some folders, such as those in
 * `/proc`.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  const above = dirname(folder)
  if (above !== folder) makeFolder(above)
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have created the folder in between.
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** Links the file to a new name. Returns false if the name exists. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/**
 * Whether the holder of a lock, which does not listen here, has certainly ended. Processes on other machines cannot be
 * checked.
 */
function isGone({ pid: holder, started, boot, host, disk }: Holder, ownDisk: number | undefined): boolean {
  // The process still runs: somebody may have deleted its socket.
  if (host === hostname() && boot === bootId() && started !== '' && startOf(holder) === started) return false
  if (boot !== '' && boot === bootId() && disk !== undefined && disk === ownDisk) return true
  if (host !== hostname()) return false
  if (boot !== bootId() || !isRunning(holder)) return true
  const now = startOf(holder)
  return now !== undefined && now !== started
}

function isRunning(holder: number): boolean {
  try {
    return kill(holder, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/** The start time of a process, in a unit of the system, or `'ended'`; `undefined` if the system does not tell. */
function startOf(holder: number): string | undefined {
  try {
    // Fields 3 and 22. Field 2 is a name in parentheses, which may contain anything (proc(5)).
    const stat = readFileSync(`/proc/${holder}/stat`, 'utf8')
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A process that has ended keeps its pid until its parent reads its exit status.
    return state === 'Z' ? 'ended' : fields[18]
  } catch {
    return holder === pid ? String(performance.timeOrigin) : undefined
  }
}

/** An id that changes whenever the machine starts; empty if the system has none. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

function inUse(folder: string, path: string, holder: Holder | undefined): ConfigurationError {
  const who = holder ? `the process ${holder.pid} on ${holder.host}` : 'another process'
  const advice = `if that process no longer runs, delete ${path}; for several processes, use PostgreSQL`
  return new ConfigurationError('database', `The folder ${folder} is in use by ${who}; ${advice}.`)
}
